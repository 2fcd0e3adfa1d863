//! Calls that go on as tasks, against rmcp's own task server, on both wires.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use goose_extension::{
    Answer, Caller, ElicitAction, Elicited, Extension, JsonObject, Progress, Question, QuestionKind,
    prelude::*,
};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, RemoteExtension, connect};
use rmcp::{
    RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
        CreateTaskResult, ErrorData, GetTaskParams, GetTaskResult, InputRequest, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, UpdateTaskParams,
    },
    service::RequestContext,
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Runs every call as a task; the tool's name says what it does.
struct Worker {
    tasks: TaskManager,
    cancelled: mpsc::Sender<()>,
}

const TOOLS: [&str; 7] = ["work", "ask", "ask_patiently", "fail", "expire", "hang", "forget"];

async fn perform(
    tool: String,
    task: TaskContext,
    cancelled: mpsc::Sender<()>,
) -> Result<CallToolResult, TaskExit> {
    match tool.as_str() {
        "work" => {
            for step in 1..=3 {
                tokio::time::sleep(Duration::from_millis(700)).await;
                task.set_status_message(format!("step {step}"));
            }
        }
        "ask" | "ask_patiently" => {
            let question = json!({ "method": "elicitation/create", "params": {
                "mode": "form", "message": "Who?",
                "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
            } });
            let question: InputRequest = serde_json::from_value(question).unwrap();
            let answer = task.request_input("who", question).await;
            if answer.is_err() {
                let _ = cancelled.send(()).await;
            }
            let answer = answer?;
            return Ok(CallToolResult::success(vec![ContentBlock::text(
                answer["content"]["name"].to_string(),
            )]));
        }
        "fail" => return Err(TaskExit::Error(ErrorData::internal_error("the disk is full", None))),
        _ => {
            task.cancelled().await;
            let _ = cancelled.send(()).await;
            return Err(TaskExit::Cancelled);
        }
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("done")]))
}

impl ServerHandler for Worker {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name| rmcp::model::Tool::new(name, "works", JsonObject::new());
        Ok(ListToolsResult::with_all_items(TOOLS.into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (tool, cancelled) = (request.name.to_string(), self.cancelled.clone());
        let ttl = if tool == "expire" { 200 } else { 60_000 };
        let options =
            TaskOptions::new().with_poll_interval_ms(50).with_ttl_ms(ttl).with_status_message("begun");
        let mut task =
            self.tasks.spawn(options, |context| Box::pin(perform(tool.clone(), context, cancelled)));
        if tool == "forget" {
            task.task_id = "nobody knows".to_owned();
        }
        Ok(CreateTaskResult::new(task).into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}

struct Opened {
    extension: Arc<RemoteExtension>,
    cancelled: mpsc::Receiver<()>,
}

async fn open(options: ConnectOptions) -> Opened {
    let (client, server) = tokio::io::duplex(1 << 16);
    let (sender, cancelled) = mpsc::channel(8);
    let worker = Worker { tasks: TaskManager::new(), cancelled: sender };
    tokio::spawn(async move {
        if let Ok(running) = worker.serve(server).await {
            let _ = running.waiting().await;
        }
    });
    Opened { extension: connect(client, options).await.unwrap(), cancelled }
}

const WIRES: [Lifecycle; 2] = [Lifecycle::Discover, Lifecycle::Initialize];

fn on(lifecycle: Lifecycle) -> ConnectOptions {
    ConnectOptions { lifecycle, ..ConnectOptions::default() }
}

async fn within<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call hangs")
}

/// Answers with a name, and keeps what it is told.
#[derive(Default)]
struct Person {
    told: Mutex<Vec<String>>,
}

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _key: &str, _question: Question) -> ToolResult<Answer> {
        let answer = Elicited::new(ElicitAction::Accept).with_content(json!({ "name": "Ada" }));
        Ok(Answer::Elicited(answer))
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }

    fn progress(&self, progress: Progress) {
        self.told.lock().unwrap().push(progress.message.unwrap_or_default());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_followed_to_its_result_and_its_changes_are_told() {
    for lifecycle in WIRES {
        let opened = open(on(lifecycle)).await;
        let person = Arc::new(Person::default());
        let context = CallContext::new().with_caller(person.clone());
        let output = within(opened.extension.call("work", JsonObject::new(), &context)).await.unwrap();
        assert_eq!(output.into_value(), Ok(json!("done")), "{lifecycle:?}");
        let told = person.told.lock().unwrap().clone();
        assert!(told.len() >= 2 && told[0] == "begun", "{lifecycle:?}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_a_task_are_answered_by_the_caller() {
    for lifecycle in WIRES {
        let opened = open(on(lifecycle)).await;
        let context = CallContext::new().with_caller(Arc::new(Person::default()));
        let output = within(opened.extension.call("ask", JsonObject::new(), &context)).await.unwrap();
        assert_eq!(output.into_value(), Ok(json!("\"Ada\"")), "{lifecycle:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_expires_or_is_forgotten_is_a_clear_error() {
    for lifecycle in WIRES {
        let opened = open(on(lifecycle)).await;
        for (tool, reason) in [("fail", "disk is full"), ("expire", ""), ("forget", "no longer knows")] {
            let error = within(opened.extension.call_tool(tool, HashMap::new())).await.unwrap_err();
            let text = error.to_string();
            assert!(text.len() > 10 && text.contains(reason), "{lifecycle:?} {tool}: {error:?}");
            assert!(!matches!(error, ToolError::Disconnected(_)), "{lifecycle:?} {tool}: {error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_without_an_answer_ends_the_task() {
    let mut opened = open(on(Lifecycle::Discover)).await;
    let error = within(opened.extension.call_tool("ask_patiently", HashMap::new())).await;
    assert!(error.is_err(), "{error:?}");
    assert_eq!(within(opened.cancelled.recv()).await, Some(()));
}

/// Withdraws its call at the first word of the task.
struct Impatient(CancellationToken);

#[async_trait]
impl Caller for Impatient {
    fn progress(&self, _progress: Progress) {
        self.0.cancel();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_withdraws_its_call_ends_the_task() {
    for lifecycle in WIRES {
        let mut opened = open(on(lifecycle)).await;
        let token = CancellationToken::new();
        let context =
            CallContext::new().with_cancellation(token.clone()).with_caller(Arc::new(Impatient(token)));
        let result = within(opened.extension.call("hang", JsonObject::new(), &context)).await;
        assert!(matches!(result, Err(ToolError::Cancelled(_))), "{lifecycle:?}: {result:?}");
        assert_eq!(within(opened.cancelled.recv()).await, Some(()), "{lifecycle:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_task_is_given_up_and_the_server_told_and_signs_of_life_keep_one_going() {
    for lifecycle in WIRES {
        let mut opened =
            open(ConnectOptions { call_timeout: Some(Duration::from_millis(1500)), ..on(lifecycle) }).await;
        let result = within(opened.extension.call_tool("work", HashMap::new())).await;
        assert_eq!(result, Ok(json!("done")), "{lifecycle:?}");
        let result = within(opened.extension.call_tool("hang", HashMap::new())).await;
        assert!(matches!(result, Err(ToolError::Timeout(_))), "{lifecycle:?}: {result:?}");
        assert_eq!(within(opened.cancelled.recv()).await, Some(()), "{lifecycle:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_a_hard_bound_in_spite_of_progress() {
    let options =
        ConnectOptions { max_call_time: Some(Duration::from_millis(300)), ..on(Lifecycle::Discover) };
    let mut opened = open(options).await;
    let result = within(opened.extension.call_tool("hang", HashMap::new())).await;
    assert!(matches!(result, Err(ToolError::Timeout(_))), "{result:?}");
    assert_eq!(within(opened.cancelled.recv()).await, Some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_there_answers_a_ping_on_both_wires() {
    for lifecycle in WIRES {
        let opened = open(on(lifecycle)).await;
        let took = opened.extension.ping(Duration::from_secs(10)).await.unwrap();
        assert!(took < Duration::from_secs(10), "{lifecycle:?}");
    }
}
