//! The agent side of the Agent Client Protocol: an editor starts goose, talks with it, and shows what it does.
//!
//! ```text
//! editor ── session/new, load, resume ──▶ Connection ──▶ EditorSession ──▶ AgentManager::sessions() ──▶ Exchange
//!        ── session/prompt ─────────────▶ turn: reply_to(message)
//!        ◀─ session/update ────────────── updates: Event ─▶ message, thought, tool call, plan, usage
//!        ◀─ session/request_permission ── questions: approvals, consents, trust; elicitation/create for forms
//!        ◀─ fs/…, terminal/… ──────────── backend: unsaved buffers and terminals for the tools of the session
//! ```
//!
//! - `connection`: requests of the editor; `client`: what it can do, and its answers; `session`: one session;
//!   `turn`: one prompt, from its content to the reason of its end;
//! - `limits`: restrictions of a client over a network;
//! - `choices`: modes and options that the editor offers; `prompt`: content of a prompt; `servers`, `tools`: MCP
//!   servers and tools of the editor;
//!   `updates`, `tool_calls`: events as updates; `questions`: questions to the user; `backend`, `terminal`: files and
//!   commands.

mod backend;
mod choices;
mod client;
mod connection;
mod limits;
mod prompt;
mod questions;
mod servers;
mod session;
mod terminal;
mod tool_calls;
mod tools;
mod turn;
mod updates;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use goose::{
    agent_manager::{AgentManager, OpenError},
    config::{ExtensionConfig, Profile, Settings},
};
use goose_extension::Backend;
use goose_mcp_bridge::OAuth;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use self::limits::Limits;
use self::{client::Client, connection::Connection, questions::EditorBrowser};
use crate::rpc::{Incoming, Rpc};

/// Time for everything to be stored when the editor is gone.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Chooses the profile of a session in a folder, with its model.
#[async_trait]
pub trait ChooseProfile: Send + Sync {
    /// Returns the profile.
    ///
    /// # Errors
    ///
    /// Fails with [`OpenError::NoModel`] if there is no model, and with errors of the configuration.
    async fn profile(&self, settings: &Settings) -> Result<Profile, OpenError>;
}

/// goose as an agent for one editor.
pub struct EditorAgent {
    manager: AgentManager,
    profiles: Arc<dyn ChooseProfile>,
    /// Files and programs of this machine; none for a client over a network, whose own are not used.
    backend: Option<Arc<dyn Backend>>,
    extensions: Vec<ExtensionConfig>,
    agent: Option<String>,
    oauth: Option<OAuth>,
    limits: Option<Limits>,
}

impl EditorAgent {
    /// Creates an agent with the files and programs of this machine, which are used where the editor offers none.
    pub fn new(manager: AgentManager, profiles: Arc<dyn ChooseProfile>, backend: Arc<dyn Backend>) -> Self {
        Self { backend: Some(backend), ..Self::bare(manager, profiles) }
    }

    /// Creates an agent for a client that reaches goose over a network. Other clients may use the same sessions.
    pub fn served(manager: AgentManager, profiles: Arc<dyn ChooseProfile>, limits: Limits) -> Self {
        Self { limits: Some(limits), ..Self::bare(manager, profiles) }
    }

    fn bare(manager: AgentManager, profiles: Arc<dyn ChooseProfile>) -> Self {
        let extensions = Vec::new();
        Self { manager, profiles, backend: None, extensions, agent: None, oauth: None, limits: None }
    }

    /// Adds extensions to all sessions.
    #[must_use]
    pub fn with_extensions(mut self, extensions: impl IntoIterator<Item = ExtensionConfig>) -> Self {
        self.extensions.extend(extensions);
        self
    }

    /// Sets the agent of new sessions, with its mode.
    #[must_use]
    pub fn with_agent(mut self, agent: Option<String>) -> Self {
        self.agent = agent;
        self
    }

    /// Sets the login to servers. Pages for a login are shown by the editor.
    #[must_use]
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }

    /// Serves an editor until it closes the connection or `stop` is cancelled. Its sessions are closed then, unless
    /// other clients use them.
    pub async fn serve(
        mut self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        stop: CancellationToken,
    ) {
        let client = Arc::new(Client::default());
        if let Some(oauth) = self.oauth.take() {
            let browser = EditorBrowser { client: Arc::clone(&client) };
            self.manager = self.manager.with_oauth(oauth.with_browser(Arc::new(browser)));
        }
        let connection = Arc::new(Connection::new(self, client));
        let rpc = Rpc::new(input, output, Arc::clone(&connection) as Arc<dyn Incoming>);
        stop.run_until_cancelled(rpc.ended()).await;
        rpc.end("was closed");
        // What is not stored by then ends with the process.
        let _ = tokio::time::timeout(CLOSE_TIME, connection.close_all()).await;
    }
}
