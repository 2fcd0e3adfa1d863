//! Options of a pool ([`PoolOptions`]), and the context of each binding ([`BindingContext`]): its folder,
//! environment, secrets and logins. The pool itself does not look them up.

use std::{ffi::OsStr, path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Builtin, BuiltinOptions, Extension, ToolResult};
use goose_mcp_bridge::{FileTokenStore, Interceptor, OAuth};

use super::{frontend::Frontend, listing::ListingCache};
use crate::config::{BaseEnvironment, EnvSecrets, FileSecrets, Paths, SecretChain, Secrets};

/// Default time limit for the start of a service.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Builds the services that are part of this program.
pub trait BuildService: Send + Sync {
    /// Returns the extension of that name for a binding; `None` if the name is unknown.
    fn build(&self, name: &str, context: &BindingContext) -> Option<Arc<dyn Extension>>;

    /// Returns the names that [`build`](Self::build) knows, for error messages.
    fn names(&self) -> Vec<String>;
}

/// Built-in services of a program, with goose's folders.
struct Builtins {
    services: &'static [Builtin],
    paths: Paths,
}

impl BuildService for Builtins {
    fn build(&self, name: &str, context: &BindingContext) -> Option<Arc<dyn Extension>> {
        let builtin = self.services.iter().find(|builtin| builtin.name == name)?;
        Some(builtin.build(&builtin_options(&self.paths, context)))
    }

    fn names(&self) -> Vec<String> {
        self.services.iter().map(|builtin| builtin.name.to_owned()).collect()
    }
}

/// Creates the hook between a service, by its name, and its client.
pub type Interceptors = Arc<dyn Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync>;

/// Environment of the services of one session or command. Bindings share a service if its launch does not
/// differ; a different folder or environment that the service would see is a difference.
#[derive(Clone)]
#[non_exhaustive]
pub struct BindingContext {
    /// Working folder of child processes and built-ins; by default that of this process.
    pub working_dir: Option<PathBuf>,
    /// Environment that child processes inherit.
    pub environment: Arc<BaseEnvironment>,
    /// Secrets, by name.
    pub secrets: Arc<dyn Secrets>,
    /// Login to servers that require it; by default only with earlier logins.
    pub oauth: Option<Arc<OAuth>>,
    /// User interface that runs the tools of `frontend` extensions, if one is attached.
    pub frontend: Option<Arc<dyn Frontend>>,
}

impl BindingContext {
    /// Creates a context that uses only the given folders, with an environment for child processes and
    /// headers.
    pub fn new(paths: &Paths, environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let secrets: EnvSecrets = environment.iter().cloned().collect();
        Self::with_secrets(paths, environment.into_iter().collect(), secrets)
    }

    /// Creates a context with the environment and the folder of this process.
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
            frontend: None,
        }
    }

    /// Sets the working folder.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// Sets the login.
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(Arc::new(oauth));
        self
    }
}

/// Returns a login that only uses earlier grants.
pub(crate) fn earlier_logins(paths: &Paths) -> OAuth {
    OAuth::new(Arc::new(FileTokenStore::new(paths.logins())))
}

/// Options of a pool. Everything that differs between sessions is in the [`BindingContext`].
#[derive(Clone)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Folder with the listings of earlier runs.
    pub(super) cache: Option<ListingCache>,
    /// Folder for generated programs (`inline_python`).
    pub scratch_dir: PathBuf,
    /// Time limit for the start of a service.
    pub start_timeout: Duration,
    /// Built-in services.
    pub builtins: Arc<dyn BuildService>,
    /// Hooks between services and their clients; for tests.
    pub interceptors: Option<Interceptors>,
}

impl PoolOptions {
    /// Creates options that use only the given folders, with the built-in services of the program.
    pub fn new(paths: &Paths, services: &'static [Builtin]) -> Self {
        Self {
            cache: Some(ListingCache::new(paths.cache.join("tools"))),
            scratch_dir: paths.cache.join("scripts"),
            start_timeout: START_TIMEOUT,
            builtins: Arc::new(Builtins { services, paths: paths.clone() }),
            interceptors: None,
        }
    }

    /// Disables the listings on disk.
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }

    /// Limits the time in which a service must start.
    pub fn with_start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// Puts a hook between each service and its client, also for services in this process. Disables the
    /// listings on disk.
    pub fn with_interceptors(
        mut self,
        interceptors: impl Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync + 'static,
    ) -> Self {
        self.interceptors = Some(Arc::new(interceptors));
        self.without_cache()
    }
}

/// Variable with the names of secret variables that commands get.
pub(crate) const SHELL_ENV: &str = "GOOSE_SHELL_ENV";

/// Returns the folder for long outputs of commands, and for pages.
pub fn outputs_folder(paths: &Paths) -> PathBuf {
    paths.cache.join("outputs")
}

/// Returns the options of built-ins for a binding. They see the same environment as child processes, and the
/// secret variables that the user allows for commands.
pub fn builtin_options(paths: &Paths, context: &BindingContext) -> BuiltinOptions {
    let environment = &context.environment;
    let allowed = environment.get(SHELL_ENV).unwrap_or_default().to_string_lossy().into_owned();
    let is_allowed = |(name, _): &(&OsStr, &OsStr)| allowed.split([',', ' ']).any(|it| **name == *it);
    let (given, withheld): (Vec<_>, Vec<_>) = environment.withheld().partition(is_allowed);
    let options = BuiltinOptions::new(&paths.config)
        .with_environment(environment.iter().chain(given))
        .with_withheld(withheld.into_iter().map(|(name, _)| name.to_string_lossy()))
        .with_scratch_dir(outputs_folder(paths));
    match &context.working_dir {
        Some(dir) => options.with_working_dir(dir),
        None => options,
    }
}

impl std::fmt::Debug for BindingContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BindingContext").field("working_dir", &self.working_dir).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolOptions").field("scratch_dir", &self.scratch_dir).finish_non_exhaustive()
    }
}
