//! [`Sessions`]: the sessions of this server, in folders below its roots. Each is open once, however many clients use
//! it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use goose::{
    agent_manager::{AgentManager, OpenError, OpenOptions, SharedSession},
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
    },
    config::{ExtensionConfig, Mode, Profile},
    exchange::Exchange,
    recipe::{Recipe, RecipeFile},
    session::{ListOptions, NewSession, SessionId, SessionStore, SessionSummary},
};
use goose_acp::{EditorAgent, Limits};
use goose_fs::resolve;
use goose_providers::ModelRef;

use crate::{
    editors::ServedProfiles,
    error::{ApiError, ApiResult},
    ids::Uuid,
    tokens::{Client, Scope},
};

/// Maximum number of open sessions.
pub(crate) const MAX_OPEN: usize = 2_048;

/// Sessions of the server.
pub(crate) struct Sessions {
    manager: AgentManager,
    /// Model of folders whose settings name none.
    model: Option<ModelRef>,
    extensions: Vec<ExtensionConfig>,
    roots: Vec<PathBuf>,
}

/// A session that is open, as long as this is kept.
#[derive(Clone)]
pub(crate) struct OpenSession {
    shared: SharedSession,
    pub(crate) folder: PathBuf,
}

impl OpenSession {
    pub(crate) fn exchange(&self) -> &Exchange {
        self.shared.exchange()
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
    pub(crate) recipe: Option<RecipeTask>,
}

/// Recipe with its values, and its file.
#[derive(Debug)]
pub(crate) struct RecipeTask {
    pub(crate) recipe: Recipe,
    pub(crate) file: RecipeFile,
}

impl RecipeTask {
    /// Sets the recipe's model.
    fn change(&self, profile: &mut Profile) {
        let settings = self.recipe.settings.clone().unwrap_or_default();
        let provider = settings.goose_provider;
        if let Some(model) = settings.goose_model {
            let known = profile.processor.as_ref().and_then(ModelRef::provider).map(str::to_owned);
            profile.processor = Some(match provider.or(known) {
                Some(provider) => ModelRef::new(provider, model),
                None => ModelRef::bare(model),
            });
        }
        #[expect(clippy::cast_possible_truncation, reason = "models take temperatures with a few digits")]
        let temperature = settings.temperature.map(|temperature| temperature as f32);
        profile.temperature = temperature.or(profile.temperature);
    }
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
        model: Option<ModelRef>,
        extensions: Vec<ExtensionConfig>,
        roots: Vec<PathBuf>,
    ) -> Self {
        Self { manager, model, extensions, roots }
    }

    /// Returns the manager with the settings of a folder, and the profile there.
    pub(crate) fn in_folder(&self, folder: &Path) -> ApiResult<(AgentManager, Profile)> {
        let manager = self.manager.in_folder(folder).map_err(OpenError::from)?;
        let mut profile = manager.settings().profile(None).map_err(OpenError::from)?;
        profile.processor = profile.processor.or_else(|| self.model.clone());
        Ok((manager, profile))
    }

    /// Returns the agent of a client that uses the Agent Client Protocol.
    pub(crate) fn editor_agent(&self, client: &Client) -> EditorAgent {
        let limits = Limits {
            roots: self.roots.clone(),
            max_sessions: MAX_OPEN,
            may_administer: client.scope >= Scope::Admin,
        };
        let profiles = Arc::new(ServedProfiles { model: self.model.clone() });
        EditorAgent::served(self.manager.clone(), profiles, limits)
            .with_extensions(self.extensions.iter().cloned())
    }

    pub(crate) fn store(&self) -> &SessionStore {
        self.manager.store()
    }

    /// Returns the number of open sessions.
    pub(crate) fn count(&self) -> usize {
        self.manager.sessions().ids().len()
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
        if let Some(open) = self.manager.sessions().ids().into_iter().find(is_it) {
            return Ok(Some(open));
        }
        let stored = self.store().list(ListOptions::default().all_kinds()).await?;
        Ok(stored.into_iter().map(|summary| summary.id).find(is_it))
    }

    /// Returns a session if it is open and its folder is below a root.
    pub(crate) async fn opened(&self, id: &SessionId) -> Option<OpenSession> {
        let shared = self.manager.sessions().get(id).await?;
        let folder = shared.exchange().working_dir().to_owned();
        self.is_below_root(&folder).then_some(OpenSession { shared, folder })
    }

    /// Returns all sessions that are open and whose folders are below a root.
    pub(crate) async fn all_open(&self) -> Vec<OpenSession> {
        let ids = self.manager.sessions().ids();
        let opened = futures::future::join_all(ids.iter().map(|id| self.opened(id))).await;
        opened.into_iter().flatten().collect()
    }

    /// Opens a session of the store, or returns it if it is open.
    pub(crate) async fn open(&self, id: &SessionId) -> ApiResult<OpenSession> {
        if let Some(opened) = self.opened(id).await {
            return Ok(opened);
        }
        self.check_room()?;
        let loaded = self.store().open_session(id).await?;
        let folder = self.folder(Some(&loaded.summary.working_dir))?;
        let opening = async {
            let last = loaded.summary.agent.clone();
            let agent = last.and_then(|name| self.agents(&folder).find(&name).ok());
            let session = |options: OpenOptions| match agent {
                Some((manifest, mode)) => options.with_session(loaded).with_last_agent(manifest, mode),
                None => options.with_session(loaded),
            };
            self.open_with(session, &folder, None).await
        };
        let shared = self.manager.sessions().join(id, opening).await?;
        Ok(OpenSession { shared, folder })
    }

    /// Begins a session.
    pub(crate) async fn create(&self, request: SessionRequest) -> ApiResult<OpenSession> {
        self.check_room()?;
        let folder = self.folder(request.folder.as_deref())?;
        let mut new = NewSession::in_folder(&folder);
        (new.name, new.id) = (request.name, request.id);
        let session = self.store().create(new).await?;
        let id = session.id().clone();
        let opening = async {
            let with = |options: OpenOptions| {
                let options = options.with_session(session);
                match request.agent {
                    Some(agent) if agent.is_routed => options.with_last_agent(agent.manifest, agent.mode),
                    Some(agent) => options.with_agent(agent.manifest, agent.mode),
                    None => options,
                }
            };
            let exchange = self.open_with(with, &folder, request.recipe.as_ref()).await?;
            if let Some(mode) = request.mode {
                tighten(&exchange, mode)?;
            }
            Ok::<_, ApiError>(exchange)
        };
        let shared = self.manager.sessions().join(&id, opening).await?;
        Ok(OpenSession { shared, folder })
    }

    async fn open_with(
        &self,
        options: impl FnOnce(OpenOptions) -> OpenOptions,
        folder: &Path,
        recipe: Option<&RecipeTask>,
    ) -> ApiResult<Exchange> {
        let (manager, mut profile) = self.in_folder(folder)?;
        if let Some(recipe) = recipe {
            recipe.change(&mut profile);
        }
        let mut options = options(OpenOptions::new(profile));
        if let Some(RecipeTask { recipe, file }) = recipe {
            let used = options.with_recipe(recipe, file);
            options = used.map_err(|error| ApiError::bad_request(error.to_string()))?;
        }
        let options = options.with_extensions(self.extensions.clone()).with_working_dir(folder);
        let exchange = manager.open(options).await?;
        // Questions wait for a client, which may come later.
        exchange.set_attended(true);
        Ok(exchange)
    }

    fn check_room(&self) -> ApiResult<()> {
        if self.count() < MAX_OPEN {
            return Ok(());
        }
        let message = format!("{MAX_OPEN} sessions are open already.");
        Err(ApiError::unavailable("too_many_sessions", message))
    }

    /// Closes a session, for example because it is removed.
    pub(crate) async fn close(&self, id: &SessionId) {
        self.manager.sessions().close(id).await;
    }

    /// Closes everything, with the services that the sessions used.
    pub(crate) async fn close_all(&self) {
        self.manager.sessions().close_all().await;
        self.manager.pool().shutdown().await;
    }
}

/// Sets a permission mode that a client wants. The server's own mode is the most permissive one.
pub(crate) fn tighten(exchange: &Exchange, mode: Mode) -> ApiResult<()> {
    let present = exchange.permissions().mode();
    if mode < present {
        let message =
            format!("The permission mode is `{present}`, and a client can only choose a stricter one.");
        return Err(ApiError::forbidden("mode", message));
    }
    exchange.set_mode(mode);
    Ok(())
}
