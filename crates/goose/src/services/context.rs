//! [`BindingContext`]: what surrounds the services of one binding: its folder, its environment, its secrets and its logins.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_mcp_bridge::{FileTokenStore, OAuth};

use crate::config::{BaseEnvironment, EnvSecrets, FileSecrets, Paths, SecretChain, Secrets};

/// What surrounds the services that a session or a command is bound to. Services whose launch does not differ are shared
/// by bindings; a folder or an environment that a service would see is a difference.
#[derive(Clone)]
#[non_exhaustive]
pub struct BindingContext {
    /// The folder that child processes start in, and whose files built-ins keep; by default this process's.
    pub working_dir: Option<PathBuf>,
    /// What child processes inherit.
    pub environment: Arc<BaseEnvironment>,
    /// Where secrets are found by name.
    pub secrets: Arc<dyn Secrets>,
    /// How to log in to servers that want it; by default with earlier logins only.
    pub oauth: Option<Arc<OAuth>>,
}

impl BindingContext {
    /// A context that touches nothing outside of the given folders, with an environment for child processes and headers.
    pub fn new(paths: &Paths, environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let secrets: EnvSecrets = environment.iter().cloned().collect();
        Self::with_secrets(paths, environment.into_iter().collect(), secrets)
    }

    /// The environment and the folder of this process.
    pub fn of_this_process(paths: &Paths) -> Self {
        let context = Self::with_secrets(paths, BaseEnvironment::from_process(), EnvSecrets::from_process());
        Self { working_dir: std::env::current_dir().ok(), ..context }
    }

    fn with_secrets(paths: &Paths, environment: BaseEnvironment, secrets: EnvSecrets) -> Self {
        let secrets = SecretChain::default().then(secrets).then(FileSecrets::new(paths.secrets_file()));
        Self {
            working_dir: None,
            environment: Arc::new(environment),
            secrets: Arc::new(secrets),
            oauth: Some(Arc::new(earlier_logins(paths))),
        }
    }

    /// The same in another folder.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// The same with another way to log in.
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(Arc::new(oauth));
        self
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.working_dir.as_deref()
    }
}

/// Logs in with what was granted before.
pub(crate) fn earlier_logins(paths: &Paths) -> OAuth {
    OAuth::new(Arc::new(FileTokenStore::new(paths.logins())))
}

impl std::fmt::Debug for BindingContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BindingContext").field("working_dir", &self.working_dir).finish_non_exhaustive()
    }
}
