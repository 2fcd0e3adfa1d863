//! `/rename`, `/export` and `/copy`: the name of the session, and its text for elsewhere.

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    args::ExportFormat,
    chat::{After, Chat, Next},
    commands::failed,
    explained, manage,
};
use crate::{escape, output::byte_size, stderr, terminal::input::InputEvent};

/// Maximum size of what is copied. Terminals and multiplexers drop sequences from about 100,000 bytes on, which is this
/// much in Base64.
const MAX_COPIED_BYTES: usize = 74_000;

impl Chat {
    /// Renames the session, to a name that is asked for if none is given.
    pub(super) async fn rename(&mut self, name: Option<String>) -> Next {
        let name = match name {
            Some(name) => name,
            None if !stderr::can_ask() => return Ok(failed("Usage: /rename TITLE")),
            None => {
                let current = self.title().await.unwrap_or_default();
                match self.input.turn().await.change("Title: ", &current).await {
                    InputEvent::Text(name) => name,
                    _ => return Ok(After::Line),
                }
            }
        };
        let name = name.trim();
        match self.assembled.exchange.rename(name).await {
            Ok(()) if name.is_empty() => stderr::line("The session is named by its first words again."),
            Ok(()) => stderr::line(format_args!("Renamed the session to '{}'.", escape::line(name))),
            Err(error) => return Ok(failed(&format!("{:#}", explained(error)))),
        }
        Ok(After::Line)
    }

    /// Returns the title of the session, once it is stored.
    pub(super) async fn title(&self) -> Option<String> {
        let id = self.assembled.exchange.session_id();
        let summary = self.assembled.store().summary(id).await.ok()?;
        Some(summary.name().to_owned()).filter(|name| name != id.as_str())
    }

    /// Writes the session to a file that does not exist yet, or to the file named after the session.
    pub(super) async fn export(&self, file: Option<&str>) -> Next {
        let exchange = &self.assembled.exchange;
        if exchange.messages().is_empty() && self.title().await.is_none() {
            return Ok(failed("There is nothing to export yet."));
        }
        let path = match file {
            Some(file) if Path::new(file).exists() => {
                return Ok(failed(&format!("{file} exists. Name another file: /export FILE")));
            }
            Some(file) => PathBuf::from(file),
            None => PathBuf::from(format!("goose-session-{}.md", exchange.session_id())),
        };
        let format = ExportFormat::of(Some(&path));
        let exported =
            manage::export(self.assembled.store(), exchange.session_id(), format, Some(&path)).await;
        Ok(exported.map_or_else(|error| failed(&format!("{error:#}")), |_| After::Line))
    }

    /// Sends the last answer to the clipboard of the terminal.
    pub(super) fn copy(&self) -> After {
        let answer = self.last_answer();
        let answer = answer.trim();
        if answer.is_empty() {
            return failed("There is no answer to copy yet.");
        }
        if !stderr::is_seen() {
            return failed("There is no terminal whose clipboard could be used.");
        }
        if answer.len() > MAX_COPIED_BYTES {
            let size = byte_size(answer.len() as u64);
            return failed(&format!(
                "The answer has {size}, which is too long for the clipboard of a terminal. Use /export FILE."
            ));
        }
        stderr::to_clipboard(&STANDARD.encode(answer));
        stderr::line(format_args!(
            "Sent the last answer ({} characters) to the terminal's clipboard. If it is not there, the terminal does not support \
             that (OSC 52); use /export FILE.",
            answer.chars().count()
        ));
        After::Line
    }
}
