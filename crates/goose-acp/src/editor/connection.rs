//! [`Connection`]: the requests of an editor.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use goose::{
    agent_manager::OpenError,
    session::{ListOptions, NewSession, SessionId, SessionSummary, StoreError},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    EditorAgent,
    client::{AUTH_REQUIRED, Client, NOT_FOUND, failed},
    servers,
    session::EditorSession,
    tools,
};
use crate::rpc::{Incoming, Peer, RpcError, invalid, text, unknown};

/// Version of the protocol.
const PROTOCOL_VERSION: u64 = 1;

/// Id of the one way to log in.
const CONFIGURE: &str = "configure";

/// Maximum number of sessions that an editor has open.
const MAX_SESSIONS: usize = 256;

/// Number of sessions on a page of the list.
const PAGE: usize = 50;

/// Requests after whose answer, which has the id of the session, the editor is told about its commands.
const OPENING: [&str; 2] = ["session/new", "session/fork"];

/// A connection to an editor.
pub(super) struct Connection {
    agent: Arc<EditorAgent>,
    client: Arc<Client>,
    sessions: Mutex<HashMap<String, Arc<EditorSession>>>,
}

impl Connection {
    pub(super) fn new(agent: EditorAgent, client: Arc<Client>) -> Self {
        Self { agent: Arc::new(agent), client, sessions: Mutex::default() }
    }

    fn initialize(&self, params: &Value) -> Value {
        self.client.introduce(params.get("clientCapabilities").cloned().unwrap_or_default());
        json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
            },
            "agentInfo": {"name": "goose", "title": "goose", "version": env!("CARGO_PKG_VERSION")},
            "authMethods": [{
                "id": CONFIGURE,
                "name": "goose configure",
                "description": "Choose a model and store its key: run `goose configure` in a terminal",
                "type": "terminal",
                "args": ["configure"],
            }],
        })
    }

    /// Checks that a model can be used now. Keys are not given over the protocol.
    async fn authenticate(&self, params: &Value) -> Result<Value, RpcError> {
        match text(params, "methodId")? {
            CONFIGURE => {}
            other => return Err(invalid(format!("there is no way to log in that is called `{other}`"))),
        }
        let folder = std::env::current_dir().map_err(|error| failed(&error))?;
        let manager = self.agent.manager.in_folder(&folder).map_err(|error| failed(&error))?;
        self.agent.profiles.profile(manager.settings()).await?;
        Ok(json!({}))
    }

    async fn new_session(&self, params: &Value) -> Result<Value, RpcError> {
        let folder = self.folder(params)?;
        let created = self.agent.manager.store().create(NewSession::in_folder(&folder)).await;
        let created = created.map_err(|error| failed(&error))?;
        let id = created.id().to_string();
        let session = self.add(params, folder, created.id().clone())?;
        session.begin_new(created);
        self.opened(&session, &id).await
    }

    /// Opens a stored session. If it is `shown`, the editor gets all that happened in it first.
    async fn load(&self, params: &Value, shown: bool) -> Result<Value, RpcError> {
        let id = session_id(params)?;
        let stored = self.agent.manager.store().open_session(&id).await.map_err(|error| not_found(&error))?;
        self.check_stored(&stored.summary)?;
        let session = match self.get(id.as_str()) {
            Some(session) => session,
            None => self.add(params, self.folder(params)?, id.clone())?,
        };
        if shown {
            session.replay(&stored.steps).await;
        }
        let mut answer = self.opened(&session, id.as_str()).await?;
        if let Some(fields) = answer.as_object_mut() {
            fields.remove("sessionId");
        }
        session.tell_commands().await;
        Ok(answer)
    }

    async fn fork(&self, params: &Value) -> Result<Value, RpcError> {
        let (id, folder) = (session_id(params)?, self.folder(params)?);
        let store = self.agent.manager.store();
        self.check_stored(&store.summary(&id).await.map_err(|error| not_found(&error))?)?;
        let copy = store.fork(&id, None).await.map_err(|error| not_found(&error))?;
        let session = self.add(params, folder, copy.id().clone())?;
        self.opened(&session, copy.id().as_str()).await
    }

    /// Opens a session, and describes it to the editor.
    async fn opened(&self, session: &EditorSession, id: &str) -> Result<Value, RpcError> {
        match session.describe().await {
            Ok(mut described) => {
                described["sessionId"] = json!(id);
                Ok(described)
            }
            Err(error) => {
                self.sessions.lock().remove(id);
                Err(error.into())
            }
        }
    }

    fn add(&self, params: &Value, folder: PathBuf, id: SessionId) -> Result<Arc<EditorSession>, RpcError> {
        let mut servers = servers::read(params).map_err(invalid)?;
        servers.extend(tools::read(params).map_err(invalid)?);
        let mut sessions = self.sessions.lock();
        let mut has_room = sessions.len() < MAX_SESSIONS;
        if let Some(limits) = &self.agent.limits {
            has_room &= self.agent.manager.sessions().ids().len() < limits.max_sessions;
            if !servers.is_empty() {
                limits.check_administration("an MCP server of the client")?;
            }
        }
        if !has_room {
            return Err(invalid("too many sessions are open already; close some of them"));
        }
        let (agent, client) = (Arc::clone(&self.agent), Arc::clone(&self.client));
        let session = Arc::new(EditorSession::new(agent, client, id.clone(), folder, servers));
        sessions.insert(id.to_string(), Arc::clone(&session));
        Ok(session)
    }

    fn get(&self, id: &str) -> Option<Arc<EditorSession>> {
        self.sessions.lock().get(id).cloned()
    }

    /// Returns the session that a message is about.
    fn session(&self, params: &Value) -> Result<Arc<EditorSession>, RpcError> {
        let id = text(params, "sessionId")?;
        self.get(id).ok_or_else(|| RpcError {
            code: NOT_FOUND,
            message: format!("the session `{id}` is not open; use session/load or session/resume first"),
        })
    }

    async fn list(&self, params: &Value) -> Result<Value, RpcError> {
        let first: usize = match params.get("cursor").and_then(Value::as_str) {
            Some(cursor) => cursor.parse().map_err(|_| invalid("the cursor is not one of this list"))?,
            None => 0,
        };
        let last = first.saturating_add(PAGE);
        let mut options = ListOptions::newest(u32::try_from(last.saturating_add(1)).unwrap_or(u32::MAX));
        if let Some(folder) = params.get("cwd").and_then(Value::as_str) {
            options = options.in_folder(folder);
        }
        let found = self.agent.manager.store().list(options).await.map_err(|error| failed(&error))?;
        let has_more = found.len() > last;
        let page = found.iter().skip(first).take(PAGE);
        let sessions: Vec<Value> = page.filter(|it| self.check_stored(it).is_ok()).map(listed).collect();
        let mut answer = json!({ "sessions": sessions });
        if has_more {
            answer["nextCursor"] = json!(last.to_string());
        }
        Ok(answer)
    }

    async fn close(&self, params: &Value) -> Result<Value, RpcError> {
        let session = self.session(params)?;
        self.sessions.lock().remove(text(params, "sessionId")?);
        session.close().await;
        Ok(json!({}))
    }

    async fn delete(&self, params: &Value) -> Result<Value, RpcError> {
        let id = session_id(params)?;
        if let Some(limits) = &self.agent.limits {
            limits.check_administration("removing a session")?;
            if let Ok(summary) = self.agent.manager.store().summary(&id).await {
                self.check_stored(&summary)?;
            }
        }
        let open = self.sessions.lock().remove(id.as_str());
        if let Some(open) = open {
            open.close().await;
        }
        self.agent.manager.sessions().close(&id).await;
        match self.agent.manager.store().remove(&id).await {
            // A session without messages is not stored.
            Ok(()) | Err(StoreError::NoSuchSession(_)) => Ok(json!({})),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl Connection {
    /// Returns the working folder that a message names.
    fn folder(&self, params: &Value) -> Result<PathBuf, RpcError> {
        let folder = folder(params)?;
        match &self.agent.limits {
            Some(limits) => limits.folder(&folder),
            None => Ok(folder),
        }
    }

    /// Fails for a stored session that the client may not see.
    fn check_stored(&self, session: &SessionSummary) -> Result<(), RpcError> {
        match &self.agent.limits {
            Some(limits) => limits.folder(&session.working_dir).map(drop),
            None => Ok(()),
        }
    }

    /// Closes the sessions of the editor. Those of a server stay open as long as other clients use them.
    pub(super) async fn close_all(&self) {
        let sessions: Vec<_> = self.sessions.lock().drain().map(|(_, session)| session).collect();
        futures::future::join_all(sessions.iter().map(|session| session.close())).await;
        if self.agent.limits.is_none() {
            self.agent.manager.sessions().close_all().await;
        }
    }
}

#[async_trait]
impl Incoming for Connection {
    fn connected(&self, peer: Peer) {
        self.client.connect(peer);
    }

    fn begins(&self, method: &str, params: &Value) {
        if method == "session/prompt"
            && let Ok(session) = self.session(params)
        {
            session.expect_prompt();
        }
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            "initialize" => Ok(self.initialize(&params)),
            "authenticate" => self.authenticate(&params).await,
            "session/new" => self.new_session(&params).await,
            "session/load" => self.load(&params, true).await,
            "session/resume" => self.load(&params, false).await,
            "session/fork" => self.fork(&params).await,
            "session/list" => self.list(&params).await,
            "session/close" => self.close(&params).await,
            "session/delete" => self.delete(&params).await,
            "session/prompt" => self.session(&params)?.prompt(&params).await,
            "session/set_mode" => self.session(&params)?.set_mode(text(&params, "modeId")?).await,
            "session/set_config_option" => {
                let value = text(&params, "value")?;
                self.session(&params)?.set_option(text(&params, "configId")?, value).await
            }
            _ => Err(unknown(method)),
        }
    }

    fn notification(&self, method: &str, params: Value) {
        if method == "session/cancel"
            && let Ok(session) = self.session(&params)
        {
            session.cancel();
        }
    }

    async fn answered(&self, method: &str, result: &Value) {
        let id = result.get("sessionId").and_then(Value::as_str);
        if OPENING.contains(&method)
            && let Some(session) = id.and_then(|id| self.get(id))
        {
            session.tell_commands().await;
        }
    }
}

/// Returns the working folder, which must exist.
fn folder(params: &Value) -> Result<PathBuf, RpcError> {
    let folder = PathBuf::from(text(params, "cwd")?);
    match folder.is_absolute() && folder.is_dir() {
        true => Ok(folder),
        false => Err(invalid(format!("cwd must be the absolute path of a folder: {}", folder.display()))),
    }
}

fn session_id(params: &Value) -> Result<SessionId, RpcError> {
    text(params, "sessionId")?.parse().map_err(|error| invalid(format!("{error}")))
}

fn not_found(error: &StoreError) -> RpcError {
    match error {
        StoreError::NoSuchSession(_) => RpcError { code: NOT_FOUND, message: error.to_string() },
        error => failed(error),
    }
}

impl From<OpenError> for RpcError {
    /// The error for a session that cannot be opened.
    fn from(error: OpenError) -> Self {
        let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
        let error_text = format!("{error}{hint}");
        match error {
            OpenError::NoModel | OpenError::Model(_) => Self { code: AUTH_REQUIRED, message: error_text },
            _ => failed(&error_text),
        }
    }
}

fn listed(session: &SessionSummary) -> Value {
    json!({
        "sessionId": session.id,
        "cwd": session.working_dir,
        "title": session.name(),
        "updatedAt": session.updated_at.to_string(),
    })
}
