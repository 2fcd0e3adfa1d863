//! [`Notify`]: a sign to the user who looks elsewhere: a long reply has ended, or an approval waits.

use std::{env, time::Duration};

use crate::stderr;

/// Setting that says how to notify.
pub(crate) const KEY: &str = "GOOSE_NOTIFY";

/// Duration from which on the end of a reply is notified.
const LONG: Duration = Duration::from_secs(20);

/// Terminals that show desktop notifications by OSC 9, by `TERM_PROGRAM`.
const OSC_9: [&str; 4] = ["iTerm.app", "WezTerm", "ghostty", "WarpTerminal"];

/// Terminals that show them by OSC 777, by the beginning of `TERM`.
const OSC_777: [&str; 2] = ["foot", "rxvt-unicode"];

/// The sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Notify {
    /// None. YAML reads `off` as a boolean.
    #[serde(alias = "false")]
    Off,
    /// The terminal's bell.
    #[default]
    Bell,
    /// A notification of the desktop if the terminal can show one, else the bell.
    Desktop,
}

impl Notify {
    /// Notifies of the end of a reply that took this long.
    pub(crate) fn ended(self, spent: Duration) {
        if spent >= LONG {
            self.send("The reply is complete");
        }
    }

    /// Notifies of a question.
    pub(crate) fn asks(self) {
        self.send("goose has a question");
    }

    fn send(self, text: &str) {
        let variable = |name: &str| env::var(name).unwrap_or_default();
        let Some(sign) = self.sign(text, &variable("TERM_PROGRAM"), &variable("TERM")) else { return };
        if stderr::is_seen() {
            stderr::send(&sign);
        }
    }

    /// Returns the bytes for a terminal.
    fn sign(self, text: &str, program: &str, term: &str) -> Option<String> {
        match self {
            Self::Off => None,
            Self::Desktop if OSC_9.contains(&program) || term == "xterm-kitty" => {
                Some(format!("\x1b]9;{text}\x07"))
            }
            Self::Desktop if OSC_777.iter().any(|start| term.starts_with(start)) => {
                Some(format!("\x1b]777;notify;goose;{text}\x1b\\"))
            }
            Self::Bell | Self::Desktop => Some("\x07".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_suits_the_terminal() {
        let sign = |notify: Notify, program, term| notify.sign("Done", program, term);
        assert_eq!(sign(Notify::Off, "WezTerm", "foot"), None);
        assert_eq!(sign(Notify::Bell, "WezTerm", "foot").as_deref(), Some("\x07"));
        assert_eq!(sign(Notify::Desktop, "WezTerm", "xterm").as_deref(), Some("\x1b]9;Done\x07"));
        assert_eq!(
            sign(Notify::Desktop, "", "foot-extra").as_deref(),
            Some("\x1b]777;notify;goose;Done\x1b\\")
        );
        assert_eq!(sign(Notify::Desktop, "", "screen").as_deref(), Some("\x07"));
    }
}
