//! Who shows the login page.

use std::{process::Stdio, time::Duration};

use async_trait::async_trait;
use goose_extension::{ToolError, ToolResult};
use tokio::process::Command;
use url::Url;

/// How long a starter may take to say that it failed.
const START_TIME: Duration = Duration::from_secs(3);

/// Shows pages to a person.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Shows the person the page where they log in to a server. Returns when it is shown: what the person does there
    /// comes back in another way.
    ///
    /// # Errors
    ///
    /// The page cannot be shown; the login ends with that error.
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()>;
}

/// The browser that the system starts for a URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

/// The program that opens a URL.
const STARTER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

#[async_trait]
impl Browser for SystemBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unshown(server, &"its address is not of the web"));
        }
        let mut command = Command::new(STARTER);
        command.arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child =
            goose_process::spawn_detached(&mut command).map_err(|error| unshown(server, &error))?;
        match tokio::time::timeout(START_TIME, child.wait()).await {
            // Windows' starter fails also when it worked.
            Ok(Ok(status)) if !status.success() && !cfg!(windows) => Err(unshown(server, &status)),
            Ok(Err(error)) => Err(unshown(server, &error)),
            // Still there: it is the browser itself.
            _ => Ok(()),
        }
    }
}

fn unshown(server: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::ExecutionError(format!(
        "The login page of `{server}` could not be shown with `{STARTER}`: {reason}. Log in where there is a \
         browser, or set an `Authorization` header for the server."
    ))
}
