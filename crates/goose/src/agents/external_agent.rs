//! External agents: the connector interface, which programs implement and register, and [`ExternalAgent`],
//! one such agent as a session uses it.
//!
//! ```text
//! AgentManager::with_connector(connector)
//!      │ connect_agent(manifest, folder, services)
//!      ▼
//! ExternalAgent ── run(task, host) ──► circuit breaker ──► AgentConnector::connect ──► ConnectedAgent::run
//!                                                            text, progress, files, permissions, questions │
//!               call path, permissions, questions of the session ◄── AgentHost ◄───────────────────────────┘
//! ```
//!
//! This module does not know any protocol. An agent can use nothing of goose except through [`AgentHost`],
//! where the toolset of its mode, the permissions and the user decide as they do for calls of goose's own
//! model.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use goose_extension::{Elicitation, Elicited, JsonObject, Tool, ToolOutput, ToolResult};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub(crate) use super::circuit_breaker::CircuitBreaker;
pub use super::circuit_breaker::{COOL_DOWN, MAX_FAILURES};
use super::connection::{AgentConnection, ConnectionKind};
use crate::config::{ExtensionConfig, Resolved};

/// Time limit for the start and handshake of an agent.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Default time that an agent may be silent while it works. Time in which it waits for goose does not count.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(300);

/// Time that an agent has to end its work after a cancellation. Then its connection is closed.
pub const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Time limit for one task of an agent.
pub const TASK_LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// Maximum length of an agent's answer, in bytes.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Maximum number of files of one action. Larger actions are refused, because each file has to be judged.
pub const MAX_ACTION_FILES: usize = 64;

/// Maximum size of a file that an agent may read, in bytes.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Connects to external agents. A program registers one for each protocol that it speaks, with
/// `AgentManager::with_connector`.
#[async_trait]
pub trait AgentConnector: Send + Sync {
    /// Returns true if the connector supports the protocol.
    fn speaks(&self, protocol: ConnectionKind) -> bool;

    /// Connects to an agent for its first task, within [`START_TIMEOUT`]. The agent is given the host's tools
    /// if its protocol supports that; otherwise the host is informed.
    ///
    /// # Errors
    ///
    /// Returns what happened and why if the agent cannot be reached or the handshake fails.
    async fn connect(
        &self,
        request: &ConnectRequest,
        host: &dyn AgentHost,
    ) -> Result<Arc<dyn ConnectedAgent>, AgentError>;
}

/// Everything that is needed to connect to an agent. It holds secrets, so it does not implement `Debug`.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectRequest {
    /// Name of the agent here.
    pub name: String,
    /// Connection settings of the agent.
    pub connection: AgentConnection,
    /// Folder that the agent works in.
    pub working_dir: PathBuf,
    /// Variables and headers of the agent, with their values.
    pub resolved: Resolved,
    /// Complete environment of the program.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// MCP servers that the agent depends on and connects to by itself, with their variables and headers.
    pub services: Vec<(ExtensionConfig, Resolved)>,
}

/// A connected agent. Dropping it ends the connection and the program behind it.
#[async_trait]
pub trait ConnectedAgent: Send + Sync {
    /// Gives the agent a task, in the conversation of this connection. Output goes to the host as it arrives.
    ///
    /// Ends within [`CANCEL_GRACE`] after the host's token was cancelled.
    ///
    /// # Errors
    ///
    /// Returns what happened and why if the task did not finish.
    async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError>;

    /// Returns true if the agent can be given another task.
    fn is_usable(&self) -> bool;

    /// Closes the connection gracefully. When this returns, the program behind it has ended.
    async fn close(&self);
}

/// Outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEnd {
    /// The agent has answered.
    Done,
    /// The agent reached one of its own limits.
    Limit,
    /// The agent refused the task.
    Refused,
    /// The task was cancelled.
    Cancelled,
}

/// Error of a task of an external agent. The text says what happened and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The agent cannot be used as it is configured. A retry does not help.
    #[error("{0}")]
    Unusable(String),
    /// The agent does not start, does not answer, crashed, or violates the protocol. This counts for the
    /// circuit breaker.
    #[error("{0}")]
    Broken(String),
    /// The agent answered with an error.
    #[error("{0}")]
    Failed(String),
}

/// An action that an agent would take by itself and asks permission for.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentAction {
    /// Effect that the permissions judge.
    pub effect: ActionEffect,
    /// Set if the action may have more effects than this one. The user is asked in every mode then.
    pub unclear: Option<Mentions>,
    /// Description of the action, by the agent.
    pub title: String,
    /// Input of the agent's tool.
    pub input: serde_json::Value,
}

/// Files and commands in an action that is not clear. A rule that denies one of them denies the action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Paths of files, at most [`MAX_ACTION_FILES`].
    pub paths: Vec<String>,
    /// Command lines.
    pub commands: Vec<String>,
}

/// Effect of an action. If the agent does not name the files or the command, the user is asked in every mode.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ActionEffect {
    /// Reads these files, at most [`MAX_ACTION_FILES`].
    Reads(Vec<String>),
    /// Changes these files, at most [`MAX_ACTION_FILES`]. Each has its new content, if the agent provides it.
    Writes(Vec<(String, Option<String>)>),
    /// Runs this command line.
    Runs(Option<String>),
    /// Any other effect, as a word such as `fetch`.
    Other(String),
}

/// The session around a task of an external agent. It receives the agent's output, and decides about its
/// requests.
#[async_trait]
pub trait AgentHost: Send + Sync {
    /// Returns the token that is cancelled when the task has to end.
    fn cancellation(&self) -> CancellationToken;

    /// Receives more of the answer.
    ///
    /// # Errors
    ///
    /// Fails if the answer is longer than [`MAX_ANSWER_BYTES`]. The task must end then.
    fn text(&self, text: &str) -> Result<(), AgentError>;

    /// Receives more of the reasoning.
    fn thought(&self, text: &str);

    /// Receives one line about an activity of the agent. It is stored with the session.
    fn activity(&self, text: &str);

    /// Reads a file like the tool `read`, after the same permission check. Lines count from 1.
    ///
    /// # Errors
    ///
    /// Fails if a rule or the user denies it, or if the file cannot be read as text.
    async fn read_file(&self, path: &str, first: Option<u32>, lines: Option<u32>) -> ToolResult<String>;

    /// Writes a file with the tool `write`, after the same permission check.
    ///
    /// # Errors
    ///
    /// Fails if a rule or the user denies it, or if the file cannot be written.
    async fn write_file(&self, path: &str, content: &str) -> ToolResult<()>;

    /// Decides about an action of the agent, like about a call of goose's own tools.
    ///
    /// # Errors
    ///
    /// Fails with the reason if a rule or the user denies it.
    async fn permit(&self, action: AgentAction) -> ToolResult<()>;

    /// Returns the session's tools that the agent may call, except for those that its own actions are judged
    /// by.
    fn tools(&self) -> Vec<Tool>;

    /// Calls one of the tools, after the same permission check as a call of goose's own model.
    ///
    /// # Errors
    ///
    /// Fails if the tool does not exist, or if a rule or the user denies the call.
    async fn call_tool(
        &self,
        name: &str,
        arguments: JsonObject,
        cancellation: &CancellationToken,
    ) -> ToolResult<ToolOutput>;

    /// Asks the user.
    ///
    /// # Errors
    ///
    /// Fails if no user can be asked.
    async fn ask(&self, question: Elicitation) -> ToolResult<Elicited>;
}

/// An external agent in one session. It is connected for its first task, and keeps its conversation between
/// tasks while the connection lasts.
pub struct ExternalAgent {
    name: String,
    connector: Option<Arc<dyn AgentConnector>>,
    request: Result<ConnectRequest, String>,
    breaker: Arc<CircuitBreaker>,
    connected: tokio::sync::Mutex<Option<Arc<dyn ConnectedAgent>>>,
}

impl ExternalAgent {
    /// Returns the name of the agent here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates an agent that is reached through a connector, if the program has one for its protocol.
    /// `request` is an error for the user if the configuration of the agent cannot be used.
    pub(crate) fn new(
        name: String,
        connector: Option<Arc<dyn AgentConnector>>,
        request: Result<ConnectRequest, String>,
        breaker: Arc<CircuitBreaker>,
    ) -> Self {
        Self { name, connector, request, breaker, connected: tokio::sync::Mutex::default() }
    }

    /// Gives the agent a task. A lost connection is made again, but the agent then does not know its earlier
    /// tasks.
    ///
    /// # Errors
    ///
    /// Returns what happened and why.
    pub async fn run(&self, task: &str, host: Arc<dyn AgentHost>) -> Result<AgentEnd, AgentError> {
        self.breaker.admit().map_err(|open| {
            let when = open.wait.map_or_else(
                || "another task tries it now".to_owned(),
                |wait| format!("it is tried again in {} s", wait.as_secs().max(1)),
            );
            let Self { name, .. } = self;
            AgentError::Unusable(format!(
                "The agent `{name}` failed {} times in a row, so it was not asked; {when}. Last: {}",
                open.failures, open.last_error
            ))
        })?;
        // The breaker learns the result even if this future is dropped.
        let mut attempt = Attempt { breaker: &self.breaker, ended: None };
        let ended = self.run_connected(task, host).await;
        attempt.ended = Some(ended.clone());
        ended
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

    /// Closes the connection, if there is one.
    pub async fn close(&self) {
        if let Some(agent) = self.connected.lock().await.take() {
            agent.close().await;
        }
    }
}

/// A running task. When it is dropped, the breaker learns how it ended.
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
