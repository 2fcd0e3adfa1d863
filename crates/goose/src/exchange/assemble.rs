//! Putting an exchange together: the folder, the extensions, the models, the permissions, the session.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use goose_extension::Extension;
use goose_providers::RequestOptions;
use jiff::Zoned;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    builder::{BuildError, ExchangeBuilder, Kept},
    core::{Core, DEFAULT_MAX_TURNS, Limits, Offer, Prompt, State},
    event_hub::EventHub,
    fullness::Fullness,
    handle::Exchange,
    models::{ActiveModels, Pair, prepare},
    own::{build_own, without_own},
    repetition::DEFAULT_MAX_REPETITIONS,
    spent::Spent,
    structured::FinalOutput,
};
use crate::{
    agents::{
        extension_manager::{ExtensionManager, ManagerOptions},
        manifest::AgentMode,
        toolset::Toolset,
    },
    config::{Paths, Profile, Settings, SettingsSource},
    context::hints::{self, Places},
    permission::{Mode, PermissionOptions, Permissions},
    services::{PoolOptions, ServicePool},
    session::{Conversation, NewSession, Session, SessionStore},
};

/// The setting that names the files with hints.
const HINT_FILES: &str = "CONTEXT_FILE_NAMES";

impl ExchangeBuilder {
    /// Puts everything together. Extensions whose tools are not known are started in the background.
    ///
    /// # Errors
    ///
    /// What is missing or wrong, and where.
    pub async fn build(mut self) -> Result<Exchange, BuildError> {
        let final_output = self.response_schema.as_ref().map(FinalOutput::new).transpose();
        let final_output = final_output.map_err(BuildError::Schema)?;
        let settings = match self.settings.take() {
            Some(settings) => settings,
            None => Settings::load(SettingsSource::of_this_process(Paths::from_env()?))?,
        };
        let working_dir = self.folder()?;
        let models = self.models(&settings).await?;
        prepare(&models.processor);
        let permissions = self.permissions(&settings)?;
        let Kept { session, steps, is_unfinished } = self.kept(&settings, &working_dir).await?;
        let spent = Spent::of(steps.iter().map(|stored| &stored.step));
        let conversation = Conversation::of(steps.into_iter().map(|stored| stored.step));
        let view = conversation.view();
        let manager = Arc::new(self.manager(&settings, &working_dir, &conversation).await?);
        let toolset = Toolset::compute(&AgentMode::assistant(), &manager);
        let prompt = self.prompt(&settings, &working_dir)?;
        let problems = settings.registry().problems().iter();
        let mut notices: Vec<String> =
            problems.map(|problem| format!("A service cannot be used. {problem}.")).collect();
        notices.extend(prompt.hints.problems.iter().cloned());
        let state = State {
            conversation,
            fullness: Fullness::default(),
            services: manager.events(),
            offer: Offer::default(),
            notices,
            is_unfinished,
        };
        let core = Core {
            models: ActiveModels::new(models, settings, self.profile.context_limit),
            options: self.request_options(&session),
            retry: self.retry.clone(),
            limits: limits(&self.profile),
            moderator: self.profile.moderator,
            prompt,
            final_output,
            toolset: Arc::new(toolset.with_permissions(Arc::clone(&permissions))),
            manager,
            permissions,
            events: EventHub::new(session.id().clone()),
            session,
            notifier: Arc::clone(&self.notifier),
            caller: self.caller.clone(),
            working_dir,
            view,
            spent: Arc::new(spent),
            state: Arc::new(tokio::sync::Mutex::new(state)),
            current: Mutex::new(CancellationToken::new()),
            tasks: TaskTracker::new(),
        };
        Ok(Exchange { core: Arc::new(core) })
    }

    fn folder(&self) -> Result<PathBuf, BuildError> {
        let folder = match &self.working_dir {
            Some(folder) => Ok(folder.clone()),
            None => std::env::current_dir(),
        };
        let folder = folder.and_then(std::path::absolute);
        folder.map_err(|error| BuildError::WorkingDir(error.to_string()))
    }

    async fn models(&self, settings: &Settings) -> Result<Pair, BuildError> {
        let Some(processor) = &self.processor else { return Pair::open(settings, &self.profile).await };
        let accelerator = self.accelerator.as_ref().unwrap_or(processor);
        Ok(Pair { processor: Arc::clone(processor), accelerator: Arc::clone(accelerator) })
    }

    fn permissions(&self, settings: &Settings) -> Result<Arc<Permissions>, BuildError> {
        if let Some(permissions) = &self.permissions {
            return Ok(Arc::clone(permissions));
        }
        let mode = self.profile.mode.as_deref().map(str::parse::<Mode>).transpose()?.unwrap_or_default();
        let mut options = PermissionOptions::new(mode).with_paths(settings.paths());
        if let Some(home) = settings.variable("HOME") {
            options = options.with_home(home);
        }
        if let Some(shell) = settings.variable("GOOSE_SHELL") {
            options = options.with_shell(shell);
        }
        Ok(Permissions::new(options))
    }

    async fn kept(&mut self, settings: &Settings, working_dir: &Path) -> Result<Kept, BuildError> {
        if let Some(kept) = self.kept.take() {
            return Ok(kept);
        }
        let store = SessionStore::at(SessionStore::file(settings.paths()));
        Ok(store.create(NewSession::in_folder(working_dir)).await?.into())
    }

    async fn manager(
        &self,
        settings: &Settings,
        working_dir: &Path,
        conversation: &Conversation,
    ) -> Result<ExtensionManager, BuildError> {
        let configs = settings.profile_extensions(&without_own(&self.profile, &self.own))?;
        let own = self.own_extensions(settings, working_dir, conversation)?;
        let pool = match &self.pool {
            Some(pool) => Arc::clone(pool),
            None => pool(settings, working_dir),
        };
        let options = ManagerOptions::in_pool(pool);
        let manager = ExtensionManager::with_options(configs, CancellationToken::new(), options).await?;
        for extension in own {
            manager.add_extension(extension)?;
        }
        Ok(manager)
    }

    fn own_extensions(
        &self,
        settings: &Settings,
        working_dir: &Path,
        conversation: &Conversation,
    ) -> Result<Vec<Arc<dyn Extension>>, BuildError> {
        let builtin = goose_mcp::Settings::new(&settings.paths().config).with_working_dir(working_dir);
        let ready = |name: &str| goose_mcp::builtin(name, &builtin);
        let notifier = Arc::clone(&self.notifier);
        Ok(build_own(&self.profile, &self.own, notifier, conversation.view(), &ready)?)
    }

    fn request_options(&self, session: &Session) -> RequestOptions {
        RequestOptions {
            temperature: self.profile.temperature,
            max_tokens: self.profile.max_tokens,
            effort: self.profile.effort,
            conversation: Some(session.id().to_string()),
            is_ephemeral: !session.is_saved(),
        }
    }

    fn prompt(&self, settings: &Settings, working_dir: &Path) -> Result<Prompt, BuildError> {
        let instructions = self.profile.instructions.iter().chain(&self.instructions).cloned().collect();
        let today = Zoned::now().strftime("%Y-%m-%d").to_string();
        let home = settings.variable("HOME").map(PathBuf::from);
        let places = Places { config_dir: &settings.paths().config, working_dir, home: home.as_deref() };
        let hints = match settings.get::<Vec<String>>(HINT_FILES)? {
            Some(names) => hints::load(places, &names),
            None => hints::load(places, hints::DEFAULT_NAMES),
        };
        Ok(Prompt { today, hints, instructions })
    }
}

/// A pool for these settings alone.
fn pool(settings: &Settings, working_dir: &Path) -> Arc<ServicePool> {
    let mut options = PoolOptions::new(settings.paths(), settings.environment());
    options.secrets = settings.secrets();
    ServicePool::new(options.with_working_dir(working_dir, settings.paths()))
}

fn limits(profile: &Profile) -> Limits {
    Limits {
        turns: profile.max_turns.unwrap_or(DEFAULT_MAX_TURNS).max(1),
        repetitions: profile.max_tool_repetitions.unwrap_or(DEFAULT_MAX_REPETITIONS).max(1),
        context: profile.context_limit,
        threshold: profile.compact_threshold,
    }
}
