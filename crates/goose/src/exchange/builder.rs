//! [`ExchangeBuilder`]: `(Profile, Notifier) → extensions → Exchange`.

use std::{path::PathBuf, sync::Arc};

use goose_extension::{Assembly, BuildExtension, Caller, Notifier, RequirementError};
use goose_providers::{Provider, RetryPolicy, SetupError};
use serde_json::Value;
use thiserror::Error;

use super::{handle::Exchange, own::OwnExtension};
use crate::{
    agents::extension_manager::ManagerError,
    config::{ConfigError, Profile, Settings},
    permission::{Permissions, UnknownMode},
    services::ServicePool,
    session::{Opened, Session, StoreError, StoredStep},
};

/// Builds an exchange with the settings of this process: its environment, its folders, its working folder.
///
/// # Errors
///
/// What is missing or wrong, and where.
pub async fn build_exchange(
    profile: Profile,
    notifier: impl Notifier + 'static,
) -> Result<Exchange, BuildError> {
    Exchange::builder(profile, notifier).build().await
}

/// Why an exchange could not be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model is chosen.
    #[error("no model is chosen. Choose one with `goose configure`, or set GOOSE_PROVIDER and GOOSE_MODEL")]
    NoModel,
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] SetupError),
    /// The configuration does not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The extensions do not fit together.
    #[error(transparent)]
    Extensions(#[from] ManagerError),
    /// An extension cannot have what it requires.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// The session cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema of the final answer is none.
    #[error("the response schema is not valid: {0}")]
    Schema(String),
    /// There is no such mode.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
    /// There is no folder to work in.
    #[error("the working folder cannot be used: {0}")]
    WorkingDir(String),
}

impl BuildError {
    /// What to do about it, where there is something to add.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.hint(),
            Self::Store(error) => error.hint(),
            _ => None,
        }
    }
}

/// Where an exchange is kept: a new session, or one that goes on.
#[derive(Debug)]
pub struct Kept {
    pub(super) session: Session,
    pub(super) steps: Vec<StoredStep>,
    pub(super) is_unfinished: bool,
}

impl From<Session> for Kept {
    fn from(session: Session) -> Self {
        Self { session, steps: Vec::new(), is_unfinished: false }
    }
}

impl From<Opened> for Kept {
    fn from(opened: Opened) -> Self {
        Self { session: opened.session, steps: opened.steps, is_unfinished: opened.unfinished }
    }
}

/// Makes an [`Exchange`]. What is not said is taken from the profile and the settings.
#[must_use]
pub struct ExchangeBuilder {
    pub(super) profile: Profile,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) settings: Option<Settings>,
    pub(super) pool: Option<Arc<ServicePool>>,
    pub(super) processor: Option<Arc<dyn Provider>>,
    pub(super) accelerator: Option<Arc<dyn Provider>>,
    pub(super) kept: Option<Kept>,
    pub(super) permissions: Option<Arc<Permissions>>,
    pub(super) working_dir: Option<PathBuf>,
    pub(super) instructions: Vec<String>,
    pub(super) response_schema: Option<Value>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    pub(super) retry: RetryPolicy,
    pub(super) own: Vec<OwnExtension>,
}

impl Exchange {
    /// Makes an exchange with everything that can be said.
    pub fn builder(profile: Profile, notifier: impl Notifier + 'static) -> ExchangeBuilder {
        ExchangeBuilder {
            profile,
            notifier: Arc::new(notifier),
            settings: None,
            pool: None,
            processor: None,
            accelerator: None,
            kept: None,
            permissions: None,
            working_dir: None,
            instructions: Vec::new(),
            response_schema: None,
            caller: None,
            retry: RetryPolicy::default(),
            own: Vec::new(),
        }
    }
}

impl ExchangeBuilder {
    /// With these settings; by default those of this process.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// With the services of this pool.
    pub fn in_pool(mut self, pool: Arc<ServicePool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// With this working model in place of the profile's.
    pub fn with_provider(mut self, processor: Arc<dyn Provider>) -> Self {
        self.processor = Some(processor);
        self
    }

    /// With this fast model in place of the profile's.
    pub fn with_accelerator(mut self, accelerator: Arc<dyn Provider>) -> Self {
        self.accelerator = Some(accelerator);
        self
    }

    /// Kept in this session, new or opened; by default in a new one of the user's store.
    pub fn with_session(mut self, session: impl Into<Kept>) -> Self {
        self.kept = Some(session.into());
        self
    }

    /// Under these permissions.
    pub fn with_permissions(mut self, permissions: Arc<Permissions>) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Working in this folder.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// With more that the model is told.
    pub fn with_instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// With a final answer that fits this JSON Schema.
    pub fn with_response_schema(mut self, schema: Value) -> Self {
        self.response_schema = Some(schema);
        self
    }

    /// Asks the model at most so often for one reply.
    pub fn with_max_turns(mut self, turns: u32) -> Self {
        self.profile.max_turns = Some(turns);
        self
    }

    /// Makes the same call at most so often in a row.
    pub fn with_max_repetitions(mut self, repetitions: u32) -> Self {
        self.profile.max_tool_repetitions = Some(repetitions);
        self
    }

    /// With somebody who answers what tools ask.
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.caller = Some(caller);
        self
    }

    /// With another way to try again.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Brings an extension of the program's own, for profiles that name it. What it requires is what the profile binds.
    pub fn with_extension<E: BuildExtension>(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        let add =
            |assembly: Assembly, name: &str, requires: &[(&str, &str)]| assembly.add::<E>(name, requires);
        self.own.push(OwnExtension { name, add: Box::new(add) });
        self
    }
}

impl std::fmt::Debug for ExchangeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExchangeBuilder").field("profile", &self.profile).finish_non_exhaustive()
    }
}
