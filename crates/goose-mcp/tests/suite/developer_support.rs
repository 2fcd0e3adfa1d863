//! [`Desk`]: a developer with a folder of its own and a recording caller.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use goose_extension::{
    CallContext, Caller, Extension, Notifier, Progress, RichRenderable, ToolError, ToolOutput, ToolResult,
};
use goose_mcp::{BuiltinOptions, Developer};
pub(crate) use goose_test_support::is_alive;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit for something that has to happen, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Desk {
    dir: TempDir,
    pub(crate) developer: Developer,
    pub(crate) watcher: Arc<Watcher>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with_variables(&[])
    }

    pub(crate) fn with_variables(more: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let home = dir.path().join("home").display().to_string();
        let variables = [("PATH", path.as_str()), ("HOME", home.as_str())];
        let options = BuiltinOptions::new(dir.path().join("config"))
            .with_environment(variables.iter().chain(more).map(|(name, value)| (*name, *value)))
            .with_scratch_dir(dir.path().join("scratch"));
        Self { developer: Developer::new(&options), dir, watcher: Arc::default() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The names in the working folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn context(&self) -> CallContext {
        CallContext::new()
            .with_working_dir(self.path(""))
            .with_caller(Arc::clone(&self.watcher) as Arc<dyn Caller>)
            .with_notifier(Arc::clone(&self.watcher) as Arc<dyn Notifier>)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolResult<ToolOutput> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.developer.call(tool, arguments, &self.context()).await
    }

    /// Calls a tool that works.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await.unwrap();
        assert!(!output.is_error, "{}", output.as_text());
        output.as_text()
    }

    /// Looks at a file, whatever comes of it: what was not read is not replaced.
    pub(crate) async fn look(&self, path: &str) {
        self.call("read", json!({ "path": path })).await.unwrap();
    }

    /// Calls a tool that fails, and returns its message.
    pub(crate) async fn err(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await.unwrap();
        assert!(output.is_error, "{}", output.as_text());
        output.as_text()
    }

    /// Makes a call whose arguments are refused, and returns the message.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Err(ToolError::InvalidParameters(message)) => message,
            answer => panic!("{answer:?}"),
        }
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Watcher {
    progress: Mutex<Vec<Progress>>,
    logged: Mutex<Vec<RichRenderable>>,
    statuses: Mutex<Vec<String>>,
}

impl Watcher {
    pub(crate) fn progress(&self) -> Vec<Progress> {
        self.progress.lock().unwrap().clone()
    }

    pub(crate) fn statuses(&self) -> Vec<String> {
        self.statuses.lock().unwrap().clone()
    }

    /// The log since the last call.
    pub(crate) fn take_logged(&self) -> Vec<RichRenderable> {
        std::mem::take(&mut self.logged.lock().unwrap())
    }
}

impl Caller for Watcher {
    fn progress(&self, progress: Progress) {
        self.progress.lock().unwrap().push(progress);
    }
}

impl Notifier for Watcher {
    fn log(&self, content: RichRenderable) {
        self.logged.lock().unwrap().push(content);
    }

    fn status(&self, message: String) {
        self.statuses.lock().unwrap().push(message);
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The process ids that a file has, one in a line.
pub(crate) fn pids(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}
