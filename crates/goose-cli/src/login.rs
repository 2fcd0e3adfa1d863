//! Logging in to servers that want it: what was granted before, and a browser where a person sits at a terminal.

use std::sync::Arc;

use goose::config::Paths;
use goose_extension::{ToolResult, prelude::async_trait};
use goose_mcp_bridge::{Browser, FileTokenStore, OAuth, SystemBrowser};
use url::Url;

use crate::{aside, visible};

/// The way to log in. Without a terminal only earlier logins are used.
pub(crate) fn login(paths: &Paths) -> OAuth {
    let oauth = OAuth::new(Arc::new(FileTokenStore::new(paths.logins())));
    if aside::is_seen() { oauth.with_browser(Arc::new(TerminalBrowser)) } else { oauth }
}

/// The system's browser. The address is shown as well, so that a person can open it by hand.
struct TerminalBrowser;

#[async_trait]
impl Browser for TerminalBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        aside::line(format_args!(
            "`{}` wants you to log in. If no browser opens, open this address:\n{}",
            visible::line(server),
            visible::line(url.as_str())
        ));
        if let Err(error) = SystemBrowser.open(server, url).await {
            aside::line(format_args!("No browser opened: {}", visible::text(&error.to_string())));
        }
        Ok(())
    }
}
