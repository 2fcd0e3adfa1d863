//! Questions to the user at the terminal: lines and menus.

use std::io::{self, BufRead as _, Read as _};

use anyhow::bail;
use goose::config::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::{
    escape,
    output::NAME,
    stderr,
    terminal::menu::{Menu, MenuChoice, MenuEntry},
};

/// Maximum length of an answer.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// Control characters that end or change a hidden answer.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACES: [u8; 2] = [8, 127];

/// Message after the end of the dialogue.
const ENDED: &str = "Ended early. The answers so far are saved.";

/// The user at this terminal.
pub(super) struct Terminal;

impl Terminal {
    /// Shows a line.
    pub(super) fn tell(&self, line: &str) {
        stderr::line(line);
    }

    /// Asks for a line and trims it. Empty if the user only pressed Enter.
    ///
    /// # Errors
    ///
    /// Fails if the user ends the dialogue.
    pub(super) fn ask(&self, prompt: &str) -> anyhow::Result<String> {
        stderr::prompt(prompt);
        let mut line = String::new();
        if io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line)? == 0 {
            stderr::line("");
            bail!(ENDED);
        }
        Ok(line.trim().to_owned())
    }

    /// Asks for a line without echoing it.
    pub(super) fn ask_hidden(&self, prompt: &str) -> anyhow::Result<Secret> {
        stderr::prompt(prompt);
        let typed = Hidden::begin().and_then(|_hidden| read_hidden(&mut io::stdin().lock()));
        stderr::line("");
        match typed? {
            Some(typed) => Ok(Secret::new(typed)),
            None => bail!("Cancelled. The answers so far are saved."),
        }
    }

    /// Asks for a line; Enter keeps the current value.
    pub(super) fn ask_or(&self, prompt: &str, present: Option<&str>) -> anyhow::Result<String> {
        let Some(present) = present else { return self.ask(&format!("{prompt}: ")) };
        let answer = self.ask(&format!("{prompt} [{present}]: "))?;
        Ok(if answer.is_empty() { present.to_owned() } else { answer })
    }

    /// Lets the user choose from a menu, and leaves the choice on the screen. Entries are a title and a line below it.
    ///
    /// # Errors
    ///
    /// Fails if the user ends the dialogue.
    pub(super) fn choose(
        &self,
        prompt: &str,
        entries: &[(&str, &str)],
        present: Option<&str>,
    ) -> anyhow::Result<usize> {
        match self.choose_from(menu(prompt, entries, present)) {
            Some(MenuChoice::Entry(entry)) => {
                let title = entries.get(entry).map_or("", |(title, _)| title);
                self.tell(&format!("{NAME}{prompt}:{NAME:#} {}", escape::line(title)));
                Ok(entry)
            }
            _ => bail!(ENDED),
        }
    }

    /// The same for names, where another one can be typed.
    ///
    /// # Errors
    ///
    /// Fails if the user ends the dialogue.
    pub(super) fn choose_or_type(
        &self,
        prompt: &str,
        names: &[&str],
        present: Option<&str>,
    ) -> anyhow::Result<String> {
        let entries: Vec<(&str, &str)> = names.iter().map(|name| (*name, "")).collect();
        let chosen = match self.choose_from(menu(prompt, &entries, present).or_other()) {
            Some(MenuChoice::Entry(entry)) => names.get(entry).copied().unwrap_or_default().to_owned(),
            Some(MenuChoice::Other(name)) => name,
            None => bail!(ENDED),
        };
        self.tell(&format!("{NAME}{prompt}:{NAME:#} {}", escape::line(&chosen)));
        Ok(chosen)
    }

    fn choose_from(&self, menu: Menu) -> Option<MenuChoice> {
        stderr::end_status();
        menu.choose(|| false)
    }

    /// Asks for yes or no; Enter means no.
    pub(super) fn agrees(&self, prompt: &str) -> anyhow::Result<bool> {
        loop {
            match self.ask(&format!("{prompt} (y/N): "))?.to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "" | "n" | "no" => return Ok(false),
                _ => self.tell("  Type y or n."),
            }
        }
    }
}

fn menu(prompt: &str, entries: &[(&str, &str)], present: Option<&str>) -> Menu {
    let at = entries.iter().position(|(title, _)| Some(*title) == present);
    Menu::new(prompt, entries.iter().map(|(title, details)| MenuEntry::new(title, details)).collect()).at(at)
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
