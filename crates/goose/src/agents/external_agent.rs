//! External agents: the connector interface, which programs implement and register, and [`ExternalAgent`], one such agent as a
//! session uses it.
//!
//! ```text
//! AgentManager::with_connector(connector)
//!      │ connect_agent(manifest, folder, services)
//!      ▼
//! ExternalAgent ── run(task, host) ──► circuit breaker ──► AgentConnector::connect ──► ConnectedAgent::run
//!                                                                                          │ text, progress
//!                  call path, permissions, questions of the session ◄── AgentHost ◄────────┘ files, permissions, questions
//! ```
//!
//! The protocols are not known here. An agent gets nothing from goose but what [`AgentHost`] gives, and that passes the toolset of
//! the agent's mode, the permissions and the person, as a call of our own does.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use goose_extension::{Elicitation, Elicited, JsonObject, Tool, ToolOutput, ToolResult};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub(crate) use super::circuit_breaker::CircuitBreaker;
pub use super::circuit_breaker::{COOL_DOWN, MAX_FAILURES};
use super::connection::{AgentConnection, ConnectionKind};
use crate::config::{ExtensionConfig, Resolved};

/// The time that an agent has to start and to greet.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The time that an agent may be silent while it works, unless its entry says something else. The time in which it waits for us
/// does not count.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(300);

/// The time that an agent has to end its work after it was cancelled. Then its connection is closed.
pub const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// The longest time for one task of an agent.
pub const TASK_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// The longest answer of an agent, in bytes.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The most files of one action. One with more is refused: each of them would have to be judged.
pub const MAX_ACTION_FILES: usize = 64;

/// The largest file that an agent is given, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Connects to external agents. A program registers one for each protocol that it speaks, with
/// `AgentManager::with_connector`.
#[async_trait]
pub trait AgentConnector: Send + Sync {
    /// Returns whether it speaks the protocol.
    fn speaks(&self, protocol: ConnectionKind) -> bool;

    /// Reaches an agent for its first task, within [`START_TIMEOUT`]. It is given the host's tools, where its protocol has a place for
    /// them; if it is not, the host is told.
    ///
    /// # Errors
    ///
    /// Returns what happened and why if the agent cannot be reached or does not greet.
    async fn connect(
        &self,
        request: &ConnectRequest,
        host: &dyn AgentHost,
    ) -> Result<Arc<dyn ConnectedAgent>, AgentError>;
}

/// Everything that is needed to reach an agent. It holds secrets, so it does not print.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectRequest {
    /// The agent's name here.
    pub name: String,
    /// The way to it.
    pub connection: AgentConnection,
    /// The folder that it works in.
    pub working_dir: PathBuf,
    /// Its variables and headers, with their values.
    pub resolved: Resolved,
    /// The environment of a program, complete.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// MCP servers that the agent depends on and has to reach by itself, with their variables and headers.
    pub services: Vec<(ExtensionConfig, Resolved)>,
}

/// An agent that was reached. Dropping it ends the connection, and the program behind it.
#[async_trait]
pub trait ConnectedAgent: Send + Sync {
    /// Gives the agent a task, in the conversation that this connection is. What it says goes to the host, piece by piece.
    ///
    /// Ends within [`CANCEL_GRACE`] after the host's token was cancelled.
    ///
    /// # Errors
    ///
    /// Returns what happened and why if the task did not come to an end.
    async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError>;

    /// Returns whether it can be given another task.
    fn is_usable(&self) -> bool;

    /// Ends the connection in good order. When this returns, the program behind it has ended.
    async fn close(&self);
}

/// The way that a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEnd {
    /// The agent has answered.
    Done,
    /// It reached a limit of its own.
    Limit,
    /// It refused.
    Refused,
    /// It was cancelled.
    Cancelled,
}

/// The reason why an agent did not do a task. The text says what happened and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// It cannot be used as it is configured; trying again does not help.
    #[error("{0}")]
    Unusable(String),
    /// It does not start, does not answer, crashed, or speaks nonsense. It counts for the circuit breaker.
    #[error("{0}")]
    Broken(String),
    /// It answered with an error.
    #[error("{0}")]
    Failed(String),
}

/// An action that an agent wants to take by itself and asks permission for.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentAction {
    /// The thing that it does, as our permissions judge it.
    pub effect: ActionEffect,
    /// The agent's own words for it.
    pub title: String,
    /// The input of its tool.
    pub input: serde_json::Value,
}

/// The effect of an action. If the agent does not name the files or the command, the person is asked in every mode.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ActionEffect {
    /// Reads these files, at most [`MAX_ACTION_FILES`].
    Reads(Vec<String>),
    /// Changes these files, at most [`MAX_ACTION_FILES`]. Each comes with its new content, if the agent says so.
    Writes(Vec<(String, Option<String>)>),
    /// Runs this command line.
    Runs(Option<String>),
    /// Anything else: a word for it, such as `fetch`.
    Other(String),
}

/// The session around a task of an external agent: it takes what the agent says, and decides what it may do.
#[async_trait]
pub trait AgentHost: Send + Sync {
    /// Cancelled when the task is to end.
    fn cancellation(&self) -> CancellationToken;

    /// Takes more of the answer.
    ///
    /// # Errors
    ///
    /// Fails if the answer is longer than [`MAX_ANSWER_BYTES`]; the task must be ended then.
    fn text(&self, text: &str) -> Result<(), AgentError>;

    /// Takes more of the reasoning.
    fn thought(&self, text: &str);

    /// Takes one line about something that the agent does. It is kept with the session.
    fn activity(&self, text: &str);

    /// Reads a file as the tool `read` would: denied, asked or allowed like its call. Lines count from 1.
    ///
    /// # Errors
    ///
    /// Fails if a rule or the person says no, or the file cannot be read as text.
    async fn read_file(&self, path: &str, first: Option<u32>, lines: Option<u32>) -> ToolResult<String>;

    /// Writes a file with the tool `write`.
    ///
    /// # Errors
    ///
    /// Fails if a rule or the person says no, or the file cannot be written.
    async fn write_file(&self, path: &str, content: &str) -> ToolResult<()>;

    /// Decides about something that the agent would do by itself, like about a call of our own tools.
    ///
    /// # Errors
    ///
    /// Fails with the reason if a rule or the person says no.
    async fn permit(&self, action: AgentAction) -> ToolResult<()>;

    /// The tools of the session that the agent may call, besides those that its own actions are judged by.
    fn tools(&self) -> Vec<Tool>;

    /// Calls one of them, until it is cancelled: denied, asked or allowed like a call of goose's own model.
    ///
    /// # Errors
    ///
    /// Fails if there is no such tool, or a rule or the person says no.
    async fn call_tool(
        &self,
        name: &str,
        arguments: JsonObject,
        cancellation: &CancellationToken,
    ) -> ToolResult<ToolOutput>;

    /// Asks the person.
    ///
    /// # Errors
    ///
    /// Fails if no person is there.
    async fn ask(&self, question: Elicitation) -> ToolResult<Elicited>;
}

/// An external agent in one session. It is reached when it gets its first task, and keeps its conversation from task to
/// task while it lives.
pub struct ExternalAgent {
    name: String,
    connector: Option<Arc<dyn AgentConnector>>,
    request: Result<ConnectRequest, String>,
    breaker: Arc<CircuitBreaker>,
    connected: tokio::sync::Mutex<Option<Arc<dyn ConnectedAgent>>>,
}

impl ExternalAgent {
    /// The agent's name here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An agent that is reached by a connector, if the program has one for its protocol. `request` is the reason for the user
    /// where its entry cannot be used.
    pub(crate) fn new(
        name: String,
        connector: Option<Arc<dyn AgentConnector>>,
        request: Result<ConnectRequest, String>,
        breaker: Arc<CircuitBreaker>,
    ) -> Self {
        Self { name, connector, request, breaker, connected: tokio::sync::Mutex::default() }
    }

    /// Gives the agent a task. A connection that was lost is made anew, but the agent does not know its earlier tasks then.
    ///
    /// # Errors
    ///
    /// Returns what happened, why, and what to do next.
    pub async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError> {
        self.breaker.admit().map_err(|open| {
            let when = open.wait.map_or_else(
                || "another task tries it now".to_owned(),
                |wait| format!("it is tried again in {} s", wait.as_secs().max(1)),
            );
            let Self { name, .. } = self;
            AgentError::Unusable(format!(
                "The agent `{name}` failed {} times in a row, so it was not asked; {when}. Last: {} \
                 Do the task yourself or give it to another agent.",
                open.failures, open.last_error
            ))
        })?;
        // Decided in any case, also if this is dropped.
        let mut attempt = Attempt { breaker: &self.breaker, ended: None };
        let ended = self.run_connected(task, host).await;
        attempt.ended = Some(ended.clone());
        ended.map_err(|error| self.explained(error))
    }

    async fn run_connected(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError> {
        let cancellation = host.cancellation();
        let mut connected = self.connected.lock().await;
        if let Some(lost) = connected.take_if(|agent| !agent.is_usable()) {
            lost.close().await;
        }
        let agent = match &*connected {
            Some(agent) => Arc::clone(agent),
            None => match cancellation.run_until_cancelled(self.connect(&*host)).await {
                None => return Ok(AgentEnd::Cancelled),
                Some(agent) => Arc::clone(connected.insert(agent?)),
            },
        };
        let ended = agent.run(task, host).await;
        if !agent.is_usable()
            && let Some(lost) = connected.take()
        {
            lost.close().await;
        }
        ended
    }

    async fn connect(&self, host: &dyn AgentHost) -> Result<Arc<dyn ConnectedAgent>, AgentError> {
        let request = self.request.as_ref().map_err(|reason| AgentError::Unusable(reason.clone()))?;
        let Some(connector) = &self.connector else {
            return Err(AgentError::Unusable(format!(
                "This program cannot reach the agent `{}`: it does not speak its protocol.",
                self.name
            )));
        };
        connector.connect(request, host).await
    }

    /// An error with what to do next.
    fn explained(&self, mut error: AgentError) -> AgentError {
        let (text, next) = match &mut error {
            AgentError::Unusable(text) => {
                (text, "Do the task yourself, and tell the user what has to change.")
            }
            AgentError::Broken(text) => {
                (text, "Do the task yourself or give it to another agent, or try once more.")
            }
            AgentError::Failed(text) => (text, "Give it a clearer or smaller task, or do it yourself."),
        };
        *text = format!("{} {next}", text.trim_end());
        error
    }

    /// Ends the connection, if there is one.
    pub async fn close(&self) {
        if let Some(agent) = self.connected.lock().await.take() {
            agent.close().await;
        }
    }
}

/// A task under way. When it is dropped, the breaker is told how it ended.
struct Attempt<'a> {
    breaker: &'a CircuitBreaker,
    /// `None` if the task itself was dropped.
    ended: Option<Result<AgentEnd, AgentError>>,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        match &self.ended {
            None | Some(Ok(AgentEnd::Cancelled) | Err(AgentError::Unusable(_))) => self.breaker.undecided(),
            Some(Ok(_) | Err(AgentError::Failed(_))) => self.breaker.succeeded(),
            Some(Err(AgentError::Broken(error))) => self.breaker.failed(error),
        }
    }
}

impl std::fmt::Debug for ExternalAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternalAgent").field("name", &self.name).finish_non_exhaustive()
    }
}
