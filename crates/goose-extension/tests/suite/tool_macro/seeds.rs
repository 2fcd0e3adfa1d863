//! The examples of goose's design documents, as they stand there.

use std::sync::{Arc, Mutex};

use goose_extension::{Assembly, ExchangeHistory, Message, Offers, prelude::*};

mod file_system {
    use std::path::PathBuf;

    use goose_extension::{
        AnyhowResult, ErrorCode, ErrorData, Extension, Tool, ToolError, ToolRegistry, ToolResult,
        macros::async_trait,
    };
    use goose_macros::tool;
    use serde_json::{Value, json};
    use std::{borrow::Cow, collections::HashMap};

    pub(super) struct FileSystem {
        registry: ToolRegistry,
        root_path: PathBuf,
    }

    impl FileSystem {
        #[tool(name = "read_file", description = "Read contents of a file")]
        async fn read_file(&self, path: String) -> ToolResult<Value> {
            let full_path = self.root_path.join(path);
            let content = tokio::fs::read_to_string(full_path).await.map_err(|e| ErrorData {
                code: ErrorCode::INTERNAL_ERROR,
                message: Cow::from(e.to_string()),
                data: None,
            })?;

            Ok(json!({ "content": content }))
        }

        #[tool(name = "read_file_simply", description = "Read contents of a file")]
        async fn read_file_simply(&self, path: String) -> ToolResult<Value> {
            let full_path = self.root_path.join(path);
            let content = tokio::fs::read_to_string(full_path)
                .await
                .map_err(|e| ToolError::ExecutionError(e.to_string()))?;

            Ok(json!({ "content": content }))
        }

        pub(super) fn new(root_path: PathBuf) -> Self {
            let registry =
                ToolRegistry::new().with(Self::read_file_tool()).with(Self::read_file_simply_tool());
            Self { registry, root_path }
        }
    }

    #[async_trait]
    impl Extension for FileSystem {
        fn name(&self) -> &str {
            "file_system"
        }

        fn description(&self) -> &str {
            "Files below a folder"
        }

        fn instructions(&self) -> &str {
            ""
        }

        fn tools(&self) -> &[Tool] {
            self.registry.tools()
        }

        async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
            Ok(HashMap::new())
        }

        async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
            self.registry.call_tool(self, tool_name, parameters).await
        }
    }
}

#[tokio::test]
async fn the_file_system_reads_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let files = file_system::FileSystem::new(folder.path().to_owned());

    for tool in ["read_file", "read_file_simply"] {
        let found = files.call_tool(tool, hashmap! { "path" => json!("a.txt") }).await;
        assert_eq!(found, Ok(json!({ "content": "hello" })));
        let missing = files.call_tool(tool, hashmap! { "path" => json!("b.txt") }).await;
        let message = "No such file or directory (os error 2)".to_owned();
        assert_eq!(missing, Err(ToolError::ExecutionError(message)));
    }
    assert_eq!(files.tools()[0].description(), "Read contents of a file");
}

struct TestExtension;

#[extension]
impl TestExtension {
    fn new() -> Self {
        Self
    }

    #[tool]
    async fn echo(&self, params: Value) -> AgentResult<Value> {
        Ok(json!({ "response": params["message"] }))
    }
}

#[tokio::test]
async fn test_echo_tool() {
    let extension = TestExtension::new();
    let result = extension.call_tool("echo", hashmap! { "message" => json!("hello") }).await;

    assert_eq!(result.unwrap(), json!({ "response": "hello" }));
}

mod schedule {
    use goose_extension::{ExchangeView, Extension, Notifier, Requirements, extension, tool};

    pub(super) trait Calendar: Send + Sync {
        fn appointments(&self) -> Vec<String>;
    }

    pub(super) trait Assistant: Send + Sync {}

    pub(super) trait Contacts: Send + Sync {}

    #[derive(Debug)]
    pub(super) struct Appointment;

    #[expect(dead_code, reason = "the document's example uses only some of its fields")]
    pub(super) struct ScheduleExtension {
        notifier: Box<dyn Notifier>,
        calendar: Box<dyn Calendar>,
        assistant: Box<dyn Assistant>,
        contacts: Box<dyn Contacts>,
        appointments_state: Vec<Appointment>,
        exchange_view: ExchangeView,
    }

    #[extension]
    impl Extension for ScheduleExtension {
        fn new(notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
            Self {
                notifier,
                calendar: requires.get("calendar"),
                assistant: requires.get("assistant"),
                contacts: requires.get("contacts"),
                appointments_state: vec![],
                exchange_view: requires.exchange_view(),
            }
        }

        fn prompt(&self) -> String {
            "Try out the example tool.".to_string()
        }

        #[tool]
        fn example(&self) {
            self.notifier
                .log(format!("An example tool was called, current state is {:?}", self.appointments_state));
        }

        #[tool]
        fn example_dependency(&self) -> Vec<String> {
            let appointments = self.calendar.appointments();
            // ...
            appointments
        }

        #[tool]
        fn example_history(&self) -> Option<String> {
            let last_message = self.exchange_view.processor.messages.last();
            // ...
            last_message.map(|message| message.text())
        }
    }
}

/// Offers everything that the schedule requires.
struct Office;

#[derive(Clone)]
struct Desk;

impl schedule::Calendar for Desk {
    fn appointments(&self) -> Vec<String> {
        vec!["lunch".to_owned()]
    }
}

impl schedule::Assistant for Desk {}

impl schedule::Contacts for Desk {}

#[extension]
impl Extension for Office {
    fn offer(self: Arc<Self>, offers: &mut Offers) {
        offers.add(|| Box::new(Desk) as Box<dyn schedule::Calendar>);
        offers.add(|| Box::new(Desk) as Box<dyn schedule::Assistant>);
        offers.add(|| Box::new(Desk) as Box<dyn schedule::Contacts>);
    }
}

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Notifier for Recorder {
    fn log(&self, content: RichRenderable) {
        self.0.lock().unwrap().push(content.plain());
    }

    fn status(&self, _message: String) {}
}

#[tokio::test]
async fn the_schedule_uses_its_notifier_its_requirements_and_the_history() {
    let recorder = Arc::new(Recorder::default());
    let history = ExchangeHistory::new();
    let built = Assembly::new(Arc::clone(&recorder) as Arc<dyn Notifier>)
        .with_exchange_view(history.view())
        .add_ready("office", Arc::new(Office))
        .add::<schedule::ScheduleExtension>(
            "schedule",
            &[("calendar", "office"), ("assistant", "office"), ("contacts", "office")],
        )
        .build()
        .unwrap();
    let schedule = &built["schedule"];
    history.push(Message::user("what is on today?"));

    assert_eq!(schedule.name(), "schedule");
    assert_eq!(schedule.prompt(), "Try out the example tool.");
    assert_eq!(schedule.call_tool("example", hashmap! {}).await, Ok(Value::Null));
    assert_eq!(*recorder.0.lock().unwrap(), ["An example tool was called, current state is []"]);
    assert_eq!(schedule.call_tool("example_dependency", hashmap! {}).await, Ok(json!(["lunch"])));
    assert_eq!(schedule.call_tool("example_history", hashmap! {}).await, Ok(json!("what is on today?")));
}
