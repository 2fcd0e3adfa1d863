//! [`Sessions`]: the sessions that are open in this server. One exchange per session, however many clients use it; it
//! is closed when it was idle for [`IDLE_TIME`].

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
    },
    config::{ExtensionConfig, Mode, Profile},
    exchange::Exchange,
    session::{ListOptions, NewSession, SessionId, SessionStore, SessionSummary},
};
use goose_fs::resolve;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::{
    error::{ApiError, ApiResult},
    ids::Uuid,
};

/// Time after which an unused session is closed.
const IDLE_TIME: Duration = Duration::from_secs(10 * 60);
/// Interval at which idle sessions are looked for.
pub(crate) const IDLE_CHECK: Duration = Duration::from_secs(30);
/// Maximum number of open sessions.
const MAX_OPEN: usize = 2_048;

type Slot = Arc<OnceCell<Arc<OpenSession>>>;

/// Sessions of the server.
pub(crate) struct Sessions {
    manager: AgentManager,
    profile: Profile,
    extensions: Vec<ExtensionConfig>,
    roots: Vec<PathBuf>,
    open: Mutex<HashMap<SessionId, Slot>>,
}

/// A session that is open.
pub(crate) struct OpenSession {
    pub(crate) exchange: Exchange,
    pub(crate) folder: PathBuf,
    used: Mutex<Instant>,
}

impl OpenSession {
    fn touch(&self) {
        *self.used.lock() = Instant::now();
    }
}

/// Options of a session that a client begins.
#[derive(Debug, Default)]
pub(crate) struct SessionRequest {
    pub(crate) id: Option<SessionId>,
    pub(crate) name: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) mode: Option<Mode>,
    pub(crate) agent: Option<ChosenAgent>,
}

/// Agent that a client chose. Without a mode, goose may route each request to another agent.
#[derive(Debug, Clone)]
pub(crate) struct ChosenAgent {
    pub(crate) manifest: Arc<AgentManifest>,
    pub(crate) mode: AgentMode,
    pub(crate) is_routed: bool,
}

impl Sessions {
    pub(crate) fn new(
        manager: AgentManager,
        profile: Profile,
        extensions: Vec<ExtensionConfig>,
        roots: Vec<PathBuf>,
    ) -> Self {
        Self { manager, profile, extensions, roots, open: Mutex::default() }
    }

    pub(crate) fn manager(&self) -> &AgentManager {
        &self.manager
    }

    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    pub(crate) fn store(&self) -> &SessionStore {
        self.manager.store()
    }

    /// Returns the number of open sessions.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// Returns the default folder.
    pub(crate) fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// Returns the agents of a folder.
    pub(crate) fn agents(&self, folder: &Path) -> AgentCatalog {
        AgentCatalog::load(self.manager.settings().paths(), folder)
    }

    /// Returns the folder that a client names, if it is below a root.
    pub(crate) fn folder(&self, named: Option<&Path>) -> ApiResult<PathBuf> {
        let Some(named) = named else { return Ok(self.root().to_owned()) };
        let outside = || {
            let message = "This folder is not below a root of the server. Start it with --root to add one.";
            ApiError::forbidden("outside_roots", message)
        };
        // A link may lead out of a root, so the resolved path counts.
        let resolved = resolve(&self.root().join(named)).map_err(|_| outside())?;
        if !self.is_below_root(&resolved) {
            return Err(outside());
        }
        match resolved.is_dir() {
            true => Ok(resolved),
            false => Err(ApiError::bad_request(format!("{} is not a folder.", resolved.display()))),
        }
    }

    pub(crate) fn is_below_root(&self, folder: &Path) -> bool {
        self.roots.iter().any(|root| folder.starts_with(root))
    }

    /// Returns a session of the store, if its folder is below a root.
    pub(crate) async fn summary(&self, id: &SessionId) -> ApiResult<SessionSummary> {
        let summary = self.store().summary(id).await?;
        self.folder(Some(&summary.working_dir))?;
        Ok(summary)
    }

    /// Finds a session by the id that the Agent Communication Protocol knows it by.
    pub(crate) async fn by_uuid(&self, id: &Uuid) -> ApiResult<Option<SessionId>> {
        let is_it = |session: &SessionId| Uuid::of_session(session) == *id;
        if let Some(open) = self.open.lock().keys().find(|session| is_it(session)) {
            return Ok(Some(open.clone()));
        }
        let stored = self.store().list(ListOptions::default().all_kinds()).await?;
        Ok(stored.into_iter().map(|summary| summary.id).find(is_it))
    }

    /// Returns a session if it is open.
    pub(crate) fn opened(&self, id: &SessionId) -> Option<Arc<OpenSession>> {
        let session = self.open.lock().get(id)?.get().cloned()?;
        session.touch();
        Some(session)
    }

    /// Returns all sessions that are open.
    pub(crate) fn all_open(&self) -> Vec<Arc<OpenSession>> {
        self.open.lock().values().filter_map(|slot| slot.get().cloned()).collect()
    }

    /// Opens a session of the store, or returns it if it is open.
    pub(crate) async fn open(&self, id: &SessionId) -> ApiResult<Arc<OpenSession>> {
        let slot = self.slot(id)?;
        let opened = slot.get_or_try_init(|| async {
            let loaded = self.store().open_session(id).await?;
            let folder = self.folder(Some(&loaded.summary.working_dir))?;
            let last = loaded.summary.agent.clone();
            let mut options = OpenOptions::new(self.profile.clone()).with_session(loaded);
            if let Some((manifest, mode)) = last.and_then(|name| self.agents(&folder).find(&name).ok()) {
                options = options.with_last_agent(manifest, mode);
            }
            self.open_with(options, folder).await
        });
        self.ready(id, &slot, opened.await.cloned())
    }

    /// Begins a session.
    pub(crate) async fn create(&self, request: SessionRequest) -> ApiResult<Arc<OpenSession>> {
        let folder = self.folder(request.folder.as_deref())?;
        let mut new = NewSession::in_folder(&folder);
        new.name = request.name;
        new.id = request.id;
        let session = self.store().create(new).await?;
        let id = session.id().clone();
        let slot = self.slot(&id)?;
        let opened = slot.get_or_try_init(|| async {
            let mut options = OpenOptions::new(self.profile.clone()).with_session(session);
            if let Some(agent) = &request.agent {
                let (manifest, mode) = (Arc::clone(&agent.manifest), agent.mode.clone());
                options = match agent.is_routed {
                    true => options.with_last_agent(manifest, mode),
                    false => options.with_agent(manifest, mode),
                };
            }
            let opened = self.open_with(options, folder).await?;
            if let Some(mode) = request.mode {
                tighten(&opened.exchange, mode)?;
            }
            Ok(opened)
        });
        self.ready(&id, &slot, opened.await.cloned())
    }

    async fn open_with(&self, options: OpenOptions, folder: PathBuf) -> ApiResult<Arc<OpenSession>> {
        let options = options.with_extensions(self.extensions.clone()).with_working_dir(&folder);
        let exchange = self.manager.open(options).await?;
        // Questions wait for a client, which may come later.
        exchange.set_attended(true);
        Ok(Arc::new(OpenSession { exchange, folder, used: Mutex::new(Instant::now()) }))
    }

    fn slot(&self, id: &SessionId) -> ApiResult<Slot> {
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN && !open.contains_key(id) {
            let message = format!("{MAX_OPEN} sessions are open already.");
            return Err(ApiError::unavailable("too_many_sessions", message));
        }
        Ok(Arc::clone(open.entry(id.clone()).or_default()))
    }

    fn ready(
        &self,
        id: &SessionId,
        slot: &Slot,
        opened: ApiResult<Arc<OpenSession>>,
    ) -> ApiResult<Arc<OpenSession>> {
        match &opened {
            Ok(session) => session.touch(),
            Err(_) if slot.get().is_none() => drop(self.open.lock().remove(id)),
            Err(_) => {}
        }
        opened
    }

    /// Closes a session, for example because it is removed.
    pub(crate) async fn close(&self, id: &SessionId) {
        let slot = self.open.lock().remove(id);
        if let Some(session) = slot.and_then(|slot| slot.get().cloned()) {
            session.exchange.close().await;
        }
    }

    /// Closes sessions that nothing uses.
    pub(crate) async fn close_idle(&self) {
        let is_idle = |slot: &Slot| {
            // The table has one reference, every user another.
            let session = slot.get().filter(|session| Arc::strong_count(session) == 1);
            Arc::strong_count(slot) == 1 && session.is_some_and(|it| it.used.lock().elapsed() >= IDLE_TIME)
        };
        let idle: Vec<Slot> = self.open.lock().extract_if(|_, slot| is_idle(slot)).map(|(_, slot)| slot).collect();
        for session in idle.iter().filter_map(|slot| slot.get()) {
            session.exchange.close().await;
        }
    }

    /// Closes everything, with the services that the sessions used.
    pub(crate) async fn close_all(&self) {
        let all: Vec<Slot> = self.open.lock().drain().map(|(_, slot)| slot).collect();
        let all = all.iter().filter_map(|slot| slot.get()).map(|session| session.exchange.close());
        futures::future::join_all(all).await;
        self.manager.pool().shutdown().await;
    }
}

/// Sets a permission mode that a client wants. The server's own mode is the most permissive one.
pub(crate) fn tighten(exchange: &Exchange, mode: Mode) -> ApiResult<()> {
    let present = exchange.permissions().mode();
    if mode < present {
        let message = format!("The permission mode is `{present}`, and a client can only choose a stricter one.");
        return Err(ApiError::forbidden("mode", message));
    }
    exchange.set_mode(mode);
    Ok(())
}
