//! `computer_control`: the screen, the mouse and the keyboard of an X11 session.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `script.rs` | the lines of a script as operations |
//! | `x11.rs` | the operations, over the protocol of X11 |
//! | `keyboard.rs` | characters and names of keys, on the keyboard as it is |
//!
//! A script is read as a whole before anything is done.

#[cfg(target_os = "linux")]
mod keyboard;
mod script;
#[cfg(target_os = "linux")]
mod x11;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    time::Duration,
};

use goose_extension::{ContentBlock, prelude::*};

use self::script::Operation;
use super::{ComputerController, blocking, failed};

/// Longest time of a script. A display that does not answer may block longer.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The display that is operated.
#[derive(Debug, Clone, Default)]
pub(super) struct Display {
    name: Option<String>,
    is_wayland: bool,
}

impl Display {
    pub(super) fn new(environment: &BTreeMap<OsString, OsString>) -> Self {
        let get = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let name = get("DISPLAY").map(|name| name.to_string_lossy().into_owned());
        Self { name, is_wayland: get("WAYLAND_DISPLAY").is_some() }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the name of the display.
    ///
    /// # Errors
    ///
    /// Fails if there is none that can be operated.
    fn usable(&self) -> ToolResult<&str> {
        if self.is_wayland {
            return Err(failed(
                "This is a Wayland session, in which programs cannot operate the screen of others. Nothing was done. Ask the \
                 person to log in to an X11 session.",
            ));
        }
        let missing = "There is no screen: the variable DISPLAY is not set. Nothing was done. Start one, for example with Xvfb, or \
                       ask the person.";
        self.name().ok_or_else(|| failed(missing))
    }
}

impl ComputerController {
    /// Operate the screen, mouse and keyboard of an X11 session. Returns what each line did, with screenshots. Fails before
    /// anything is done if a line cannot be read or there is no X11 display.
    #[tool(title = "Control the computer", group = "browser", destructive, open_world)]
    pub(super) async fn computer_control(
        &self,
        /// One operation per line: `screenshot [X Y WIDTH HEIGHT]`, `windows`, `focus ID|TITLE`, `move X Y`,
        /// `click [left|middle|right|double] [X Y]`, `scroll up|down [TIMES]`, `type TEXT`, `key ctrl+shift+t`,
        /// `wait MILLISECONDS`. Lengths are pixels from the upper left corner
        script: String,
    ) -> ToolResult<ToolOutput> {
        let operations = script::parse(&script)?;
        let display = self.display.usable()?.to_owned();
        let run = blocking(move || run(&display, &operations));
        let done = tokio::time::timeout(TIME_LIMIT, run).await;
        done.unwrap_or_else(|_| {
            let seconds = TIME_LIMIT.as_secs();
            Err(ToolError::Timeout(format!(
                "The screen did not answer within {seconds} seconds. Part of the script may be done."
            )))
        })
    }
}

#[cfg(target_os = "linux")]
fn run(display: &str, operations: &[Operation]) -> ToolResult<ToolOutput> {
    let no_screen = |error: x11::ScreenError| {
        failed(format!("The screen {display} cannot be used: {error}. Nothing was done."))
    };
    let screen = x11::Screen::connect(display).map_err(no_screen)?;
    let mut blocks = Vec::new();
    for (number, operation) in (1..).zip(operations) {
        match screen.perform(operation) {
            Ok(output) => blocks.extend(output),
            Err(error) => {
                let done = number - 1;
                return Err(failed(format!(
                    "Operation {number} failed: {error}. The {done} before it were done."
                )));
            }
        }
    }
    Ok(ToolOutput::content(blocks))
}

#[cfg(not(target_os = "linux"))]
fn run(_: &str, _: &[Operation]) -> ToolResult<ToolOutput> {
    Err(failed("The screen can be operated only on Linux with X11. Nothing was done."))
}

/// Result of an operation.
type Output = Vec<ContentBlock>;
