//! `#[tool]` and `#[extension]`, as an author uses them.

use goose_extension::prelude::*;

mod seed_file_system {
    use std::path::PathBuf;

    use goose_extension::prelude::*;

    pub struct FileSystem {
        registry: ToolRegistry,
        root_path: PathBuf,
    }

    impl FileSystem {
        #[tool(
            name = "read_file",
            description = "Read contents of a file"
        )]
        async fn read_file(&self, path: String) -> ToolResult<Value> {
            let full_path = self.root_path.join(path);
            let content = tokio::fs::read_to_string(full_path)
                .await
                .map_err(|e| ErrorData {
                    code: ErrorCode::INTERNAL_ERROR,
                    message: Cow::from(e.to_string()),
                    data: None,
                })?;

            Ok(json!({ "content": content }))
        }

        pub fn new(root_path: PathBuf) -> Self {
            Self { registry: ToolRegistry::new().with(Self::read_file_tool()), root_path }
        }
    }

    #[async_trait]
    impl Extension for FileSystem {
        fn name(&self) -> &str { "fs" }
        fn description(&self) -> &str { "" }
        fn instructions(&self) -> &str { "" }
        fn tools(&self) -> &[Tool] { self.registry.tools() }
        async fn status(&self) -> AnyhowResult<HashMap<String, Value>> { Ok(HashMap::new()) }
        async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
            self.registry.call_tool(self, tool_name, parameters).await
        }
    }
}

mod seed_schedule {
    use goose_extension::{Extension, Notifier, Requirements, extension, tool};

    pub trait Calendar: Send + Sync { fn appointments(&self) -> Vec<String>; }
    pub trait Assistant: Send + Sync {}
    pub trait Contacts: Send + Sync {}
    #[derive(Debug)]
    pub struct Appointment;

    pub struct ScheduleExtension {
        notifier: Box<dyn Notifier>,
        calendar: Box<dyn Calendar>,
        #[expect(dead_code, reason = "as in the document")]
        assistant: Box<dyn Assistant>,
        #[expect(dead_code, reason = "as in the document")]
        contacts: Box<dyn Contacts>,
        appointments_state: Vec<Appointment>,
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
            }
        }

        fn prompt(&self) -> String {
            "Try out the example tool.".to_string()
        }

        #[tool]
        fn example(&self) {
            self.notifier.log(format!("An example tool was called, current state is {:?}", self.appointments_state));
        }

        #[tool]
        fn example_dependency(&self) {
            let appointments = self.calendar.appointments();
            let _ = appointments;
        }
    }
}

struct Memory<S> { store: S }

trait Store: Send + Sync { fn get(&self, key: &str) -> String; }
struct Fixed;
impl Store for Fixed { fn get(&self, key: &str) -> String { key.to_uppercase() } }

/// Remembers.
#[extension(instructions = "Use it")]
impl<S: Store> Memory<S> {
    /// Recalls.
    #[tool(group = "read", read_only)]
    async fn recall(&self,
        /// What
        #[arg(min_length = 1, default = "x")] key: &str,
        #[arg(max = 10)] n: Option<u8>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let _ = (context, n);
        Ok(self.store.get(key))
    }
}

#[tokio::test]
async fn first() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "hi").unwrap();
    let fs = seed_file_system::FileSystem::new(dir.path().into());
    assert_eq!(fs.call_tool("read_file", hashmap!{"path" => json!("a")}).await, Ok(json!({"content": "hi"})));
    let m = Memory { store: Fixed };
    assert_eq!(m.call_tool("recall", hashmap!{"key" => json!("a")}).await, Ok(json!("A")));
    println!("{:#}", Value::Object(m.tools()[0].input_schema().clone()));
    println!("{:?}", m.call_tool("recall", hashmap!{"key" => json!("")}).await);
    println!("{:?}", m.call_tool("recall", hashmap!{"n" => json!(11)}).await);
    println!("{:?}", m.call_tool("recall", hashmap!{}).await);
}
