//! Questions to the user at the terminal: menus, and lines.

use std::io::{self, BufRead as _, Read as _};

use anyhow::bail;
use goose::config::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{
    escape, stderr,
    terminal::menu::{Menu, MenuChoice},
};

/// Maximum length of an answer.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// Control characters that end or change a hidden answer.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACES: [u8; 2] = [8, 127];

/// Message if the user ends the dialogue.
const CANCELLED: &str = "Cancelled. The answers so far are saved.";

/// Asks for a line and trims it. Empty if the user only pressed Enter.
///
/// # Errors
///
/// Fails if the user ends the dialogue.
fn ask(prompt: &str) -> anyhow::Result<String> {
    stderr::prompt(prompt);
    let mut line = String::new();
    if io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line)? == 0 {
        stderr::line("");
        bail!("Ended early. The answers so far are saved.");
    }
    Ok(line.trim().to_owned())
}

/// Asks for a choice, and shows it.
///
/// # Errors
///
/// Fails if the user ends the dialogue.
pub(super) fn choose(prompt: &str, names: &[&str], menu: Menu) -> anyhow::Result<MenuChoice> {
    let Some(choice) = menu.ask() else { bail!(CANCELLED) };
    let shown = match &choice {
        MenuChoice::Entry(entry) => names.get(*entry).copied().unwrap_or_default(),
        MenuChoice::Typed(typed) => typed,
    };
    stderr::line(format_args!("{prompt}: {}", escape::line(shown)));
    Ok(choice)
}

/// Asks for a line without echoing it.
pub(super) fn ask_hidden(prompt: &str) -> anyhow::Result<Secret> {
    stderr::prompt(prompt);
    let typed = Hidden::begin().and_then(|_hidden| read_hidden(&mut io::stdin().lock()));
    stderr::line("");
    match typed? {
        Some(typed) => Ok(Secret::new(typed)),
        None => bail!(CANCELLED),
    }
}

/// Asks for a line; Enter keeps the current value.
pub(super) fn ask_or(prompt: &str, present: Option<&str>) -> anyhow::Result<String> {
    let Some(present) = present else { return ask(&format!("{prompt}: ")) };
    let answer = ask(&format!("{prompt} [{present}]: "))?;
    Ok(if answer.is_empty() { present.to_owned() } else { answer })
}

/// Asks for yes or no; Enter means no.
pub(super) fn agrees(prompt: &str) -> anyhow::Result<bool> {
    loop {
        match ask(&format!("{prompt} (y/N): "))?.to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => stderr::line("  Type y or n."),
        }
    }
}

/// Turns off the terminal's echo until it is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // If this fails, the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Reads keys up to Enter; `None` if the user cancels.
fn read_hidden(keys: &mut impl io::BufRead) -> io::Result<Option<String>> {
    let mut typed: Vec<u8> = Vec::new();
    for key in keys.take(MAX_ANSWER_BYTES).bytes() {
        match key? {
            b'\r' | b'\n' => break,
            CTRL_C => return Ok(None),
            CTRL_D if typed.is_empty() => return Ok(None),
            key if BACKSPACES.contains(&key) => {
                let text = String::from_utf8_lossy(&typed).into_owned();
                let kept = text.char_indices().next_back().map_or(0, |(at, _)| at);
                typed.truncate(kept);
            }
            // Escape sequences of arrow keys and the like.
            key if key.is_ascii_control() => {}
            key => typed.push(key),
        }
    }
    Ok(Some(String::from_utf8_lossy(&typed).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_keys_become_a_text() -> io::Result<()> {
        for (keys, expected) in [
            ("secret\r", Some("secret")),
            (" pasted \n", Some("pasted")),
            ("wrönx\u{7f}\u{8}\u{7f}ong\r", Some("wrong")),
            ("\r", Some("")),
            ("half\u{3}", None),
            ("\u{4}", None),
            ("a\u{4}b\r", Some("ab")),
        ] {
            assert_eq!(read_hidden(&mut keys.as_bytes())?.as_deref(), expected, "{keys:?}");
        }
        Ok(())
    }
}
