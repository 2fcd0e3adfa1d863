//! [`ProgramAgent`]: an agent that is a program, in one session with it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use goose::{
    agent_manager::acp_mcp_adapter::{
        AgentEnd, AgentError, AgentHost, CANCEL_GRACE, ConnectRequest, ConnectedAgent, SILENCE_LIMIT,
        START_TIMEOUT, TASK_LIMIT,
    },
    config::{ExtensionConfig, ExtensionKind, Resolved},
};
use goose_extension::Tool;
use goose_mcp_bridge::HttpServer;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    program::Program,
    requests::{CurrentTask, Task},
    session_tools::{NAME as SERVER_NAME, serve_tools},
};
use crate::rpc::{Failure, Peer, Rpc};

/// The version of the protocol.
const PROTOCOL_VERSION: u64 = 1;

/// The code of an agent that wants a login.
const AUTH_REQUIRED: i64 = -32000;

/// The longest session id.
const MAX_SESSION_ID: usize = 1_000;

/// The part of [`CANCEL_GRACE`] that the agent has to answer; the rest is for ending its program.
const ANSWER_GRACE: Duration = Duration::from_millis(1_500);
const _: () = assert!(ANSWER_GRACE.as_millis() < CANCEL_GRACE.as_millis());

/// An agent that is a program.
struct ProgramAgent {
    name: String,
    session: String,
    folder: PathBuf,
    current: Arc<CurrentTask>,
    rpc: Rpc,
    program: Program,
    silence: Duration,
    /// Serves the session's tools to it, if it is given some.
    _tools: Option<HttpServer>,
}

/// Starts an agent, greets it and begins a session.
pub(crate) async fn connect(
    request: &ConnectRequest,
    host: &dyn AgentHost,
) -> Result<Arc<dyn ConnectedAgent>, AgentError> {
    let name = &request.name;
    let silence = request.connection.silence_limit().unwrap_or(SILENCE_LIMIT);
    let limit = START_TIMEOUT.min(silence);
    let (program, input, output) = Program::start(request)?;
    let current = Arc::new(CurrentTask::default());
    let rpc = Rpc::new(output, input, Arc::clone(&current) as _);
    let error = match timeout(limit, greet(&rpc, request, &current, host)).await {
        Ok(Ok((session, tools))) => {
            let (name, current) = (name.clone(), Arc::clone(&current));
            let folder = request.working_dir.clone();
            let agent = ProgramAgent { name, session, folder, current, rpc, program, silence, _tools: tools };
            return Ok(Arc::new(agent));
        }
        Ok(Err(GreetError::Failed(error))) => error,
        Ok(Err(GreetError::Ended(why))) => AgentError::Broken(format!(
            "The agent `{name}` {why} before it had greeted.{}{}",
            rpc.nonsense(),
            program.last_words().await
        )),
        Err(_) => AgentError::Broken(format!(
            "The agent `{name}` did not greet within {} s. Is `{}` an agent that speaks the Agent Client Protocol?{}",
            limit.as_secs(),
            request.connection.shown_target(),
            rpc.nonsense()
        )),
    };
    rpc.end("was ended");
    program.stop(false).await;
    Err(error)
}

/// The reason why an agent did not greet.
enum GreetError {
    Failed(AgentError),
    Ended(String),
}

/// Greets an agent and begins a session. Returns its id, and the server of tools that it was given.
async fn greet(
    rpc: &Rpc,
    request: &ConnectRequest,
    current: &Arc<CurrentTask>,
    host: &dyn AgentHost,
) -> Result<(String, Option<HttpServer>), GreetError> {
    let name = &request.name;
    let failed = |what: &str, failure: Failure| match failure {
        Failure::Ended(why) => GreetError::Ended(why),
        Failure::Answered(error) if error.code == AUTH_REQUIRED => {
            GreetError::Failed(AgentError::Unusable(format!(
                "The agent `{name}` wants a login ({}). Log in with its own program, or give it its key with 'env_keys'.",
                error.message
            )))
        }
        Failure::Answered(error) => GreetError::Failed(AgentError::Broken(format!(
            "The agent `{name}` refused {what}: {}.",
            error.message
        ))),
    };
    let hello = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": true, "writeTextFile": true},
            "terminal": false,
            "elicitation": {"form": {}},
        },
        "clientInfo": {"name": "goose", "title": "goose", "version": env!("CARGO_PKG_VERSION")},
    });
    let greeted = rpc.request("initialize", hello).await.map_err(|error| failed("the greeting", error))?;
    match greeted.get("protocolVersion").and_then(Value::as_u64) {
        Some(PROTOCOL_VERSION) => {}
        version => {
            let version = version.map_or_else(|| "no version".to_owned(), |it| format!("version {it}"));
            return Err(GreetError::Failed(AgentError::Unusable(format!(
                "The agent `{name}` speaks {version} of the Agent Client Protocol; goose speaks version {PROTOCOL_VERSION}."
            ))));
        }
    }
    let takes_http = greeted.pointer("/agentCapabilities/mcpCapabilities/http") == Some(&Value::Bool(true));
    let mut servers = mcp_servers(request, takes_http).map_err(GreetError::Failed)?;
    let ours = host.tools();
    let mut tools = None;
    if !ours.is_empty() && takes_http {
        let served =
            serve_tools(ours, Arc::clone(current), Peer::clone(rpc)).await.map_err(GreetError::Failed)?;
        servers.push(json!({"type": "http", "name": SERVER_NAME, "url": served.url(), "headers": []}));
        tools = Some(served);
    } else if !ours.is_empty() {
        let names: Vec<&str> = ours.iter().map(Tool::name).collect();
        host.activity(&format!("It is not given {}: it reaches no MCP servers over HTTP.", names.join(", ")));
    }
    let new = json!({"cwd": request.working_dir, "mcpServers": servers});
    let session = rpc.request("session/new", new).await.map_err(|error| failed("a new session", error))?;
    let id = session.get("sessionId").and_then(Value::as_str).filter(|id| id.len() <= MAX_SESSION_ID);
    let id = id.map(str::to_owned).ok_or_else(|| {
        GreetError::Failed(AgentError::Broken(format!("The agent `{name}` gave its session no id.")))
    })?;
    Ok((id, tools))
}

/// The services that the agent depends on, as it reaches them by itself.
fn mcp_servers(request: &ConnectRequest, takes_http: bool) -> Result<Vec<Value>, AgentError> {
    let unusable = |service: &ExtensionConfig, why: &str| {
        AgentError::Unusable(format!(
            "The agent `{}` depends on `{}`, and {why}. Take it out of the agent's 'dependencies'.",
            request.name,
            service.key()
        ))
    };
    let pairs = |values: &Resolved, of_header: bool| {
        let values = if of_header { &values.headers } else { &values.variables };
        values.iter().map(|(name, value)| json!({"name": name, "value": value.expose()})).collect::<Vec<_>>()
    };
    request
        .services
        .iter()
        .map(|(service, resolved)| match &service.kind {
            ExtensionKind::Stdio { cmd, args, .. } => Ok(
                json!({"name": service.key(), "command": cmd, "args": args, "env": pairs(resolved, false)}),
            ),
            ExtensionKind::StreamableHttp { uri, .. } if takes_http => Ok(
                json!({"type": "http", "name": service.key(), "url": uri, "headers": pairs(resolved, true)}),
            ),
            ExtensionKind::StreamableHttp { .. } => {
                Err(unusable(service, "it does not reach MCP servers over HTTP"))
            }
            _ => Err(unusable(service, "a service of this type cannot be handed to an external agent")),
        })
        .collect()
}

/// The reason why a task is ended before its answer.
enum Stop {
    Cancelled,
    Failed(AgentError),
    TooLate(String),
}

#[async_trait]
impl ConnectedAgent for ProgramAgent {
    async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError> {
        let cancellation = host.cancellation();
        let current = self.current.begin(&self.name, &self.session, &self.folder, host);
        let _end = EndTask(&self.current);
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": task}]});
        let mut prompt = std::pin::pin!(self.rpc.request("session/prompt", prompt));
        let stop = tokio::select! {
            biased;
            () = cancellation.cancelled() => Stop::Cancelled,
            () = current.failed.cancelled() => Stop::Failed(self.failure(&current)),
            answer = &mut prompt => return self.ended(answer).await,
            () = self.rpc.silence(self.silence) => Stop::TooLate(format!(
                "The agent `{}` said nothing for {} s and was ended.{}",
                self.name,
                self.silence.as_secs(),
                self.rpc.nonsense()
            )),
            () = tokio::time::sleep(TASK_LIMIT) => Stop::TooLate(format!(
                "The agent `{}` worked for {} minutes without an end and was ended.",
                self.name,
                TASK_LIMIT.as_secs() / 60
            )),
        };
        let ending = async {
            self.rpc.notify("session/cancel", json!({"sessionId": self.session})).await;
            prompt.await
        };
        if timeout(ANSWER_GRACE, ending).await.is_err() {
            self.rpc.end("did not end when it was cancelled");
        }
        match stop {
            Stop::Cancelled => Ok(AgentEnd::Cancelled),
            Stop::Failed(error) => Err(error),
            Stop::TooLate(reason) => {
                self.rpc.end("was too late");
                Err(AgentError::Broken(reason))
            }
        }
    }

    fn is_usable(&self) -> bool {
        !self.rpc.has_ended()
    }

    async fn close(&self) {
        let gently = !self.rpc.has_ended();
        self.rpc.end("was ended");
        self.program.stop(gently).await;
    }
}

struct EndTask<'a>(&'a CurrentTask);

impl Drop for EndTask<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ProgramAgent {
    fn failure(&self, task: &Task) -> AgentError {
        let name = &self.name;
        task.take_failure().unwrap_or_else(|| AgentError::Broken(format!("The agent `{name}` failed.")))
    }

    /// The end of a task that was answered.
    async fn ended(&self, answer: Result<Value, Failure>) -> Result<AgentEnd, AgentError> {
        let name = &self.name;
        let answer = match answer {
            Ok(answer) => answer,
            Err(Failure::Answered(error)) if error.code == AUTH_REQUIRED => {
                return Err(AgentError::Unusable(format!(
                    "The agent `{name}` wants a login ({}).",
                    error.message
                )));
            }
            Err(Failure::Answered(error)) => {
                return Err(AgentError::Failed(format!("The agent `{name}` failed: {}.", error.message)));
            }
            Err(Failure::Ended(why)) => {
                let words = self.program.last_words().await;
                let nonsense = self.rpc.nonsense();
                return Err(AgentError::Broken(format!(
                    "The agent `{name}` {why} in the middle of the task.{nonsense}{words}"
                )));
            }
        };
        match answer.get("stopReason").and_then(Value::as_str) {
            Some("end_turn") => Ok(AgentEnd::Done),
            Some("max_tokens" | "max_turn_requests") => Ok(AgentEnd::Limit),
            Some("refusal") => Ok(AgentEnd::Refused),
            Some("cancelled") => {
                Err(AgentError::Failed(format!("The agent `{name}` cancelled the task by itself.")))
            }
            other => Err(AgentError::Broken(format!(
                "The agent `{name}` ended the task in a way that the protocol does not have: {}.",
                other.unwrap_or("no stop reason")
            ))),
        }
    }
}
