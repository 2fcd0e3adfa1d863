//! What a pool is told by the program that runs it. The pool itself looks nothing up.

use std::{path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Extension, ToolResult};
use goose_mcp::Settings;
use goose_mcp_bridge::Interceptor;

use super::{context::BindingContext, listing_cache::ListingCache};
use crate::config::Paths;

/// How long a service may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the services that are part of this program.
pub trait BuildService: Send + Sync {
    /// The built-in or platform extension of that name for a binding; `None` where there is none.
    fn build(&self, name: &str, context: &BindingContext) -> Option<Arc<dyn Extension>>;

    /// The names that [`build`](Self::build) knows, for error messages.
    fn names(&self) -> Vec<String>;
}

/// The built-in services of `goose-mcp`, with goose's folders.
struct Builtins(Paths);

impl BuildService for Builtins {
    fn build(&self, name: &str, context: &BindingContext) -> Option<Arc<dyn Extension>> {
        goose_mcp::builtin(name, &builtin_settings(&self.0, context))
    }

    fn names(&self) -> Vec<String> {
        goose_mcp::BUILTINS.iter().map(|builtin| builtin.name.to_owned()).collect()
    }
}

/// No services: what a program has that brings no platform extensions.
struct Nothing;

impl BuildService for Nothing {
    fn build(&self, _name: &str, _context: &BindingContext) -> Option<Arc<dyn Extension>> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes the hook between a service, by its name, and its client.
pub type Interceptors = Arc<dyn Fn(&str) -> ToolResult<Arc<dyn Interceptor>> + Send + Sync>;

/// What a pool is told. What differs between sessions is in the [`BindingContext`].
#[derive(Clone)]
#[non_exhaustive]
pub struct PoolOptions {
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
    /// Hooks between services and their clients; for tests.
    pub interceptors: Option<Interceptors>,
}

impl PoolOptions {
    /// Options that touch nothing outside of the given folders.
    pub fn new(paths: &Paths) -> Self {
        Self {
            cache: Some(ListingCache::new(paths.cache.join("tools"))),
            scratch_dir: paths.cache.join("scripts"),
            start_timeout: START_TIMEOUT,
            builtins: Arc::new(Builtins(paths.clone())),
            platform: Arc::new(Nothing),
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

/// The settings of built-ins for a binding: they get no more of the environment than child processes do.
pub fn builtin_settings(paths: &Paths, context: &BindingContext) -> Settings {
    let settings = Settings::new(&paths.config)
        .with_environment(context.environment.iter())
        .with_scratch_dir(paths.cache.join("outputs"));
    match &context.working_dir {
        Some(dir) => settings.with_working_dir(dir),
        None => settings,
    }
}

impl std::fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolOptions").field("scratch_dir", &self.scratch_dir).finish_non_exhaustive()
    }
}
