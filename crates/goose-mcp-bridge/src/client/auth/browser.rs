//! [`Browser`]: shows login pages to the user.

use std::{io, time::Duration};

use async_trait::async_trait;
use goose_extension::{ToolError, ToolResult};
use goose_process::{ProcessSpec, Stream};
use url::Url;

/// Time limit for the opener to report a failure.
const START_TIME: Duration = Duration::from_secs(3);

/// Shows pages to the user.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Shows the login page of a server. Returns when it is shown; the outcome of the login arrives on the
    /// callback.
    ///
    /// # Errors
    ///
    /// Fails if the page cannot be shown, which ends the login.
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()>;
}

/// The default browser of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemBrowser;

/// Program that opens a URL.
const STARTER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

impl SystemBrowser {
    /// Opens a URL of any scheme. It must not come from an untrusted source.
    ///
    /// # Errors
    ///
    /// Fails if the opener cannot be run or reports a failure.
    pub async fn show(&self, url: &Url) -> io::Result<()> {
        let mut spec = ProcessSpec::new(STARTER);
        spec.arg(url.as_str()).stdin(Stream::Null).stdout(Stream::Null).stderr(Stream::Null);
        match goose_process::start_detached(&spec, START_TIME).await {
            Ok(Some(status)) if !status.success() => Err(io::Error::other(format!("`{STARTER}`: {status}"))),
            Err(error) => Err(io::Error::new(error.kind(), format!("`{STARTER}`: {error}"))),
            // An opener that still runs is the browser itself.
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Browser for SystemBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(browser_error(server, "its address is neither http nor https"));
        }
        self.show(url).await.map_err(|error| browser_error(server, &error.to_string()))
    }
}

fn browser_error(server: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The login page of `{server}` could not be shown: {reason}. Log in on a machine with a browser, or \
         set an `Authorization` header for the server."
    ))
}
