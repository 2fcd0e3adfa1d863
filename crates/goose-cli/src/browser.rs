//! The browser that the system starts for a page.

use std::{
    io,
    process::{Command, Stdio},
};

/// The program that opens a page.
const STARTER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Shows a page, and does not wait for what the person does there.
///
/// # Errors
///
/// Where there is no such program.
pub(crate) fn open(url: &str) -> io::Result<()> {
    let mut command = Command::new(STARTER);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Whether an address is one that a browser should be given.
pub(crate) fn is_web_address(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && url.len() > scheme.len()
    })
}
