//! What a pool is told by the program that runs it. The pool itself looks nothing up.

use std::{path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Extension, ToolResult};
use goose_mcp::Settings;
use goose_mcp_bridge::{FileTokenStore, Interceptor, OAuth};

use super::listing_cache::ListingCache;
use crate::config::{BaseEnvironment, ConfigError, EnvSecrets, FileSecrets, Paths, SecretChain, Secrets};

/// How long a service may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the services that are part of this program.
pub trait BuildService: Send + Sync {
    /// The built-in or platform extension of that name; `None` where there is none.
    fn build(&self, name: &str) -> Option<Arc<dyn Extension>>;

    /// The names that [`build`](Self::build) knows, for error messages.
    fn names(&self) -> Vec<String>;
}

/// The built-in services of `goose-mcp`.
struct Builtins(Settings);

impl BuildService for Builtins {
    fn build(&self, name: &str) -> Option<Arc<dyn Extension>> {
        goose_mcp::builtin(name, &self.0)
    }

    fn names(&self) -> Vec<String> {
        goose_mcp::BUILTINS.iter().map(|builtin| builtin.name.to_owned()).collect()
    }
}

/// No services: what a program has that brings no platform extensions.
struct Nothing;

impl BuildService for Nothing {
    fn build(&self, _name: &str) -> Option<Arc<dyn Extension>> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes the hook between a service, by its name, and its client.
pub type Interceptors = Arc<dyn Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync>;

/// What a pool is told.
#[derive(Clone)]
#[non_exhaustive]
pub struct PoolOptions {
    /// What child processes inherit.
    pub environment: BaseEnvironment,
    /// Where secrets are found by name.
    pub secrets: Arc<dyn Secrets>,
    /// The folder that child processes start in; by default this process's.
    pub working_dir: Option<PathBuf>,
    /// Where tool lists are kept between runs.
    pub(super) cache: Option<ListingCache>,
    /// Where generated programs (`inline_python`) are put.
    pub scratch_dir: PathBuf,
    /// How long a service may take to start.
    pub start_timeout: Duration,
    /// The built-in services.
    pub builtins: Arc<dyn BuildService>,
    /// The platform extensions.
    pub platform: Arc<dyn BuildService>,
    /// How to log in to servers that want it; by default with logins of before only.
    pub oauth: Option<OAuth>,
    /// Hooks between services and their clients; for tests.
    pub interceptors: Option<Interceptors>,
}

impl PoolOptions {
    /// Options that touch nothing outside of the given folders, with an environment for child processes and headers.
    pub fn new(paths: &Paths, environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let environment: Vec<_> = environment.into_iter().collect();
        let secrets: EnvSecrets = environment.iter().cloned().collect();
        Self::with_places(paths, environment.into_iter().collect(), secrets)
    }

    fn with_places(paths: &Paths, environment: BaseEnvironment, secrets: EnvSecrets) -> Self {
        let settings = builtin_settings(paths, &environment);
        Self {
            environment,
            secrets: Arc::new(
                SecretChain::default().then(secrets).then(FileSecrets::new(paths.secrets_file())),
            ),
            working_dir: None,
            cache: Some(ListingCache::new(paths.cache.join("tools"))),
            scratch_dir: paths.cache.join("scripts"),
            start_timeout: START_TIMEOUT,
            builtins: Arc::new(Builtins(settings)),
            platform: Arc::new(Nothing),
            oauth: Some(OAuth::new(Arc::new(FileTokenStore::new(paths.logins())))),
            interceptors: None,
        }
    }

    /// What a program gets that says nothing: the folders and the environment of this process.
    ///
    /// # Errors
    ///
    /// Where the environment names no home.
    pub fn of_this_process() -> Result<Self, ConfigError> {
        let paths = Paths::from_env()?;
        let options = Self::with_places(&paths, BaseEnvironment::from_process(), EnvSecrets::from_process());
        Ok(match std::env::current_dir() {
            Ok(folder) => options.with_working_dir(folder, &paths),
            Err(_) => options,
        })
    }

    /// Says which project is worked in: child processes start there, and built-ins keep the project's files there.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>, paths: &Paths) -> Self {
        let dir = dir.into();
        let settings = builtin_settings(paths, &self.environment).with_working_dir(&dir);
        self.builtins = Arc::new(Builtins(settings));
        self.working_dir = Some(dir);
        self
    }

    /// Keeps no tool lists on disk.
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }

    /// Bounds how long a service may take to start.
    pub fn with_start_timeout(mut self, timeout: Duration) -> Self {
        self.start_timeout = timeout;
        self
    }

    /// Says how to log in to servers that want it.
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }

    /// Brings platform extensions.
    pub fn with_platform(mut self, platform: Arc<dyn BuildService>) -> Self {
        self.platform = platform;
        self
    }

    /// Puts a hook between each service and its client, also where a service is part of this process. Tool lists are not
    /// kept then.
    pub fn with_interceptors(
        mut self,
        interceptors: impl Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync + 'static,
    ) -> Self {
        self.interceptors = Some(Arc::new(interceptors));
        self.without_cache()
    }
}

/// What built-ins are told: they get no more of the environment than child processes do.
pub fn builtin_settings(paths: &Paths, environment: &BaseEnvironment) -> Settings {
    Settings::new(&paths.config)
        .with_environment(environment.iter())
        .with_scratch_dir(paths.cache.join("outputs"))
}

impl std::fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolOptions").field("working_dir", &self.working_dir).finish_non_exhaustive()
    }
}
