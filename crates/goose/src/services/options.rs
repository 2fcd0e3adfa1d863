//! The options of a pool ([`PoolOptions`]), and the context of each binding ([`BindingContext`]): its folder, environment,
//! secrets and logins. The pool itself looks nothing up.

use std::{path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Builtin, BuiltinOptions, Extension, ToolResult};
use goose_mcp_bridge::{FileTokenStore, Interceptor, OAuth};

use super::listing::ListingCache;
use crate::config::{BaseEnvironment, EnvSecrets, FileSecrets, Paths, SecretChain, Secrets};

/// The default time limit for the start of a service.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the services that are part of this program.
pub trait BuildService: Send + Sync {
    /// The extension of that name for a binding; `None` if there is none.
    fn build(&self, name: &str, context: &BindingContext) -> Option<Arc<dyn Extension>>;

    /// The names that [`build`](Self::build) knows, for error messages.
    fn names(&self) -> Vec<String>;
}

/// The built-in services of a program, with goose's folders.
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

/// Makes the hook between a service, by its name, and its client.
pub type Interceptors = Arc<dyn Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync>;

/// The surroundings of the services of one session or command. Bindings share services whose launch does not differ; a
/// folder or an environment that a service would see is a difference.
#[derive(Clone)]
#[non_exhaustive]
pub struct BindingContext {
    /// The folder that child processes start in, and whose files built-ins keep; by default this process's.
    pub working_dir: Option<PathBuf>,
    /// The environment that child processes inherit.
    pub environment: Arc<BaseEnvironment>,
    /// The secrets, by name.
    pub secrets: Arc<dyn Secrets>,
    /// The way to log in to servers that want it; by default with earlier logins only.
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
}

/// Logs in with what was granted before.
pub(crate) fn earlier_logins(paths: &Paths) -> OAuth {
    OAuth::new(Arc::new(FileTokenStore::new(paths.logins())))
}

/// The options of a pool. Everything that differs between sessions is in the [`BindingContext`].
#[derive(Clone)]
#[non_exhaustive]
pub struct PoolOptions {
    /// The folder with tool lists of earlier runs.
    pub(super) cache: Option<ListingCache>,
    /// The folder for generated programs (`inline_python`).
    pub scratch_dir: PathBuf,
    /// The time limit for the start of a service.
    pub start_timeout: Duration,
    /// The built-in services.
    pub builtins: Arc<dyn BuildService>,
    /// Hooks between services and their clients; for tests.
    pub interceptors: Option<Interceptors>,
}

impl PoolOptions {
    /// Options that touch nothing outside of the given folders, with the built-in services of the program.
    pub fn new(paths: &Paths, services: &'static [Builtin]) -> Self {
        Self {
            cache: Some(ListingCache::new(paths.cache.join("tools"))),
            scratch_dir: paths.cache.join("scripts"),
            start_timeout: START_TIMEOUT,
            builtins: Arc::new(Builtins { services, paths: paths.clone() }),
            interceptors: None,
        }
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

/// Returns the options of built-ins for a binding: they get no more of the environment than child processes do.
pub fn builtin_options(paths: &Paths, context: &BindingContext) -> BuiltinOptions {
    let options = BuiltinOptions::new(&paths.config)
        .with_environment(context.environment.iter())
        .with_scratch_dir(paths.cache.join("outputs"));
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
