//! [`EditorSession`]: a session as an editor uses it.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use goose::{
    agent_manager::{AgentManager, OpenError, OpenOptions, SessionState, SharedSession},
    agents::catalog::AgentCatalog,
    config::ExtensionConfig,
    exchange::{Exchange, replay},
    permission::Mode,
    session::{Session, SessionId, StoreError, StoredStep},
};
use goose_extension::Backend;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    EditorAgent,
    backend::EditorBackend,
    choices::{self, AUTOMATIC, MODEL, PERMISSIONS},
    client::{Client, Offer, failed},
    limits::Limits,
    questions,
    terminal::Terminals,
    tools::EditorTools,
    updates::Updates,
};
use crate::rpc::{RpcError, invalid};

/// A session of an editor.
pub(super) struct EditorSession {
    pub(super) agent: Arc<EditorAgent>,
    pub(super) client: Arc<Client>,
    pub(super) id: SessionId,
    pub(super) folder: PathBuf,
    pub(super) terminals: Arc<Terminals>,
    servers: Vec<ExtensionConfig>,
    backend: Option<Arc<dyn Backend>>,
    /// Handle of a new session, which is stored with its first message.
    created: Mutex<Option<Session>>,
    open: tokio::sync::Mutex<Option<SharedSession>>,
    /// Cancels the running prompt.
    pub(super) running: Mutex<Option<CancellationToken>>,
    /// True if the prompt that was read last was cancelled before it began to run.
    pub(super) is_cancelled: AtomicBool,
    /// True once the user was asked about the files of the project.
    has_asked_trust: AtomicBool,
    /// Title that the editor knows.
    pub(super) title: Mutex<Option<String>>,
}

impl EditorSession {
    pub(super) fn new(
        agent: Arc<EditorAgent>,
        client: Arc<Client>,
        id: SessionId,
        folder: PathBuf,
        servers: Vec<ExtensionConfig>,
    ) -> Self {
        let terminals = Arc::new(Terminals::new(Arc::clone(&client), id.to_string()));
        let backend = agent.backend.clone().map(|local| {
            let (client, terminals) = (Arc::clone(&client), Arc::clone(&terminals));
            Arc::new(EditorBackend::new(client, id.to_string(), local, terminals)) as Arc<dyn Backend>
        });
        Self {
            agent,
            client,
            id,
            folder,
            terminals,
            servers,
            backend,
            created: Mutex::default(),
            open: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            is_cancelled: AtomicBool::new(false),
            has_asked_trust: AtomicBool::new(false),
            title: Mutex::default(),
        }
    }

    /// Uses a session that was just created.
    pub(super) fn begin_new(&self, session: Session) {
        *self.created.lock() = Some(session);
    }

    /// Returns the open session. It is shared with all others that have it open in this process.
    pub(super) async fn opened(&self) -> Result<SharedSession, OpenError> {
        let mut open = self.open.lock().await;
        if let Some(session) = &*open {
            return Ok(session.clone());
        }
        let session = self.agent.manager.sessions().join(&self.id, self.open_exchange()).await?;
        Ok(open.insert(session).clone())
    }

    async fn open_exchange(&self) -> Result<Exchange, OpenError> {
        let manager = self.agent.manager.in_folder(&self.folder)?;
        let profile = self.agent.profiles.profile(manager.settings()).await?;
        let (state, last) = self.stored(&manager).await?;
        let mut options = OpenOptions::new(profile)
            .with_session(state)
            .with_working_dir(&self.folder)
            .with_extensions(self.agent.extensions.iter().chain(&self.servers).cloned());
        if let Some(backend) = &self.backend {
            options = options.with_backend(Arc::clone(backend));
        }
        if self.agent.limits.is_none() && self.client.offers(Offer::Tools) {
            let (client, session) = (Arc::clone(&self.client), self.id.to_string());
            options = options.with_frontend(Arc::new(EditorTools { client, session }));
        }
        let catalog = AgentCatalog::load(manager.settings().paths(), &self.folder);
        let found = |name: &String| catalog.find(name).ok();
        if let Some((manifest, mode)) = last.as_ref().and_then(found) {
            options = options.with_last_agent(manifest, mode);
        } else if let Some((manifest, mode)) = self.agent.agent.as_ref().and_then(found) {
            options = options.with_agent(manifest, mode);
        }
        let exchange = manager.open(options).await?;
        exchange.set_attended(true);
        Ok(exchange)
    }

    /// Returns the session as it is stored, and the agent that it was last used with.
    async fn stored(&self, manager: &AgentManager) -> Result<(SessionState, Option<String>), OpenError> {
        match (manager.store().open_session(&self.id).await, self.created.lock().clone()) {
            (Err(StoreError::NoSuchSession(_)), Some(created)) => Ok((created.into(), None)),
            (loaded, _) => {
                let loaded = loaded?;
                let last = loaded.summary.agent.clone();
                Ok((loaded.into(), last))
            }
        }
    }

    /// Returns the modes and options of the session.
    pub(super) async fn describe(&self) -> Result<Value, OpenError> {
        let session = self.opened().await?;
        Ok(json!({
            "modes": choices::modes(session.exchange()),
            "configOptions": choices::options(session.exchange(), self.agent.manager.settings()),
        }))
    }

    /// Shows the editor all that happened in the session.
    pub(super) async fn replay(&self, steps: &[StoredStep]) {
        let mut updates = Updates::new(&self.folder, true);
        for record in replay(&self.id, steps, 0) {
            self.send(updates.of_event(&record.event)).await;
        }
    }

    pub(super) async fn send(&self, updates: Vec<Value>) {
        for update in updates {
            self.client.update(self.id.as_str(), update).await;
        }
    }

    pub(super) async fn tell_commands(&self) {
        self.send(vec![choices::commands()]).await;
    }

    /// Continues with another agent, or lets goose choose.
    pub(super) async fn set_mode(&self, mode: &str) -> Result<Value, RpcError> {
        let session = self.opened().await?;
        let exchange = session.exchange();
        match mode {
            AUTOMATIC => exchange.choose_agent_automatically(),
            mode => {
                exchange.switch_agent(mode).await.map_err(|error| invalid(error.to_string()))?;
            }
        }
        let current = choices::current_mode(exchange);
        self.send(vec![json!({"sessionUpdate": "current_mode_update", "currentModeId": current})]).await;
        Ok(json!({}))
    }

    /// Sets the model or the permission mode.
    pub(super) async fn set_option(&self, option: &str, value: &str) -> Result<Value, RpcError> {
        let session = self.opened().await?;
        let exchange = session.exchange();
        match option {
            MODEL => {
                exchange.set_model(value).await.map_err(|error| failed(&error))?;
            }
            PERMISSIONS => {
                let mode = value.parse::<Mode>().map_err(|error| invalid(error.to_string()))?;
                if self.agent.limits.is_some() {
                    Limits::check_mode(exchange.permissions().mode(), mode)?;
                }
                exchange.set_mode(mode);
            }
            other => return Err(invalid(format!("there is no option `{other}`"))),
        }
        let options = choices::options(exchange, self.agent.manager.settings());
        Ok(json!({ "configOptions": options }))
    }

    /// Asks once about a configuration of the project that is not trusted. If the user agrees, the session is opened
    /// again with it.
    pub(super) async fn ask_trust(&self) -> Result<(), OpenError> {
        // The configuration of a project is trusted by the server's user, not by its clients.
        if self.agent.limits.is_some() || self.has_asked_trust.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let paths = self.agent.manager.settings().paths().clone();
        if questions::ask_trust(&self.client, self.id.as_str(), &paths, &self.folder).await? {
            self.release().await;
            self.agent.manager.sessions().close(&self.id).await;
        }
        Ok(())
    }

    /// Notes that a prompt was read, which can be cancelled from now on.
    pub(super) fn expect_prompt(&self) {
        self.is_cancelled.store(false, Ordering::Relaxed);
    }

    /// Cancels the running prompt, or the one that begins next if it was read already.
    pub(super) fn cancel(&self) {
        match &*self.running.lock() {
            Some(running) => running.cancel(),
            None => self.is_cancelled.store(true, Ordering::Relaxed),
        }
    }

    async fn release(&self) -> Option<SharedSession> {
        self.open.lock().await.take()
    }

    /// Releases the session. It is closed now unless it has other users.
    pub(super) async fn close(&self) {
        self.cancel();
        if let Some(session) = self.release().await
            && session.is_only_user()
        {
            self.agent.manager.sessions().close(&self.id).await;
        }
    }
}
