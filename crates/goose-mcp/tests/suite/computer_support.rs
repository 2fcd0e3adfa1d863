//! [`Office`]: a computercontroller with a folder of its own, and servers on loopback.

use std::{fs, path::PathBuf};

use goose_extension::{CallContext, Extension, FetchedHost, HostPattern, HostPolicy, ToolError, ToolOutput};
use goose_mcp::{BuiltinOptions, ComputerController};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Office {
    dir: TempDir,
    pub(crate) controller: ComputerController,
}

impl Office {
    pub(crate) fn new() -> Self {
        Self::with_variables(&[])
    }

    pub(crate) fn with_variables(more: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let home = dir.path().display().to_string();
        let variables = [("PATH", path.as_str()), ("HOME", home.as_str())];
        let options = BuiltinOptions::new(dir.path().join("config"))
            .with_environment(variables.iter().chain(more).map(|(name, value)| (*name, *value)))
            .with_scratch_dir(dir.path().join("scratch"));
        Self { controller: ComputerController::new(&options), dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub(crate) fn context(&self) -> CallContext {
        CallContext::new().with_working_dir(self.path(""))
    }

    pub(crate) async fn call_in(
        &self,
        tool: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.controller.call(tool, arguments, context).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call_in(tool, arguments, &self.context()).await
    }

    /// Calls a tool that works, and returns its text.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await.unwrap();
        assert!(!output.is_error, "{output:?}");
        output.as_text()
    }

    /// Calls a tool that fails, and returns its message.
    pub(crate) async fn err(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, arguments).await {
            Ok(output) => {
                assert!(output.is_error, "{output:?}");
                output.as_text()
            }
            Err(error) => error.to_string(),
        }
    }

    /// Fetches with the rules that allow some hosts.
    pub(crate) async fn fetch(&self, url: &str, form: &str, allowed: &[&str]) -> Result<String, String> {
        let mut policy = HostPolicy::default();
        allowed.iter().for_each(|host| policy.allow(HostPattern::parse(host).unwrap()));
        let context = self.context().with_judged_hosts(policy.into());
        match self.call_in("web_scrape", json!({ "url": url, "save_as": form }), &context).await {
            Ok(output) if !output.is_error => Ok(output.as_text()),
            Ok(output) => Err(output.as_text()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the host and port of a server, as a rule names it.
pub(crate) fn host_of(url: &str) -> String {
    let rest = url.trim_start_matches("http://");
    rest.split('/').next().unwrap().to_owned()
}

/// Returns a policy for which the person has approved one URL.
pub(crate) fn approved(url: &str) -> HostPolicy {
    let mut policy = HostPolicy::default();
    policy.allow_named(FetchedHost::of(&url.parse().unwrap()).unwrap());
    policy.close();
    policy
}
