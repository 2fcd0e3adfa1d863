//! `!command`: a command of the user. It runs as the shell tool runs commands, its output is shown as it comes, and
//! both join the conversation with the next message.

use std::sync::Arc;

use goose::{agents::extension_manager::ExtensionManager, config::ExtensionConfig, session::synthetic};
use goose_extension::{CallContext, Caller, JsonObject, Message, Progress, ToolError};
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    chat::{After, Chat, Next},
    commands::{cancelled, failed},
};
use crate::{escape, output::FAINT, stderr};

/// Extension and tool that run the commands.
const EXTENSION: &str = "developer";
const TOOL: &str = "developer__shell";

/// Time limit of a command, in seconds: a day. Ctrl-C ends it before.
const SECONDS: u64 = 24 * 60 * 60;

/// Maximum size of the output that is kept of a cancelled command.
const MAX_SHOWN_BYTES: usize = 48 * 1024;

/// Maximum number of commands that the next message contains; the oldest are left out.
const MAX_COMMANDS: usize = 20;

/// Output of a command that was shown while it ran.
#[derive(Default)]
struct ShownOutput(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    text: String,
    /// Number of lines, with those that came too fast to be shown.
    lines: u64,
}

impl Caller for ShownOutput {
    fn progress(&self, progress: Progress) {
        let Some(text) = progress.message else { return };
        let mut shown = self.0.lock();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of lines")]
        let lines = progress.done as u64;
        let missing = lines.saturating_sub(shown.lines + text.lines().count() as u64);
        if missing > 0 {
            stderr::line(format_args!("{FAINT}… {missing} more lines{FAINT:#}"));
        }
        stderr::line(escape::text(text.trim_end_matches('\n')));
        shown.lines = lines;
        if shown.text.len() + text.len() <= MAX_SHOWN_BYTES {
            shown.text.push_str(&text);
        }
    }
}

impl Chat {
    /// Runs a command of the user.
    pub(super) async fn run_command(&mut self, command: &str) -> Next {
        if command.is_empty() {
            return Ok(failed("Type a command after the '!', such as !git status."));
        }
        let folder = self.assembled.exchange.working_dir().to_owned();
        let options = self.assembled.manager().manager_options(&folder);
        let configs = vec![ExtensionConfig::builtin(EXTENSION)];
        let extensions = ExtensionManager::with_options(configs, CancellationToken::new(), options).await?;
        let shown = Arc::new(ShownOutput::default());
        let context = CallContext::new().with_working_dir(folder).with_caller(Arc::clone(&shown) as _);
        let arguments = JsonObject::from_iter([
            ("command".to_owned(), Value::from(command)),
            ("timeout_secs".to_owned(), Value::from(SECONDS)),
        ]);
        let call = extensions.call_tool_with(TOOL, arguments, &context);
        let ended = self.working("the command runs", call).await?;
        let shown = std::mem::take(&mut *shown.0.lock()).text;
        let (output, after) = match ended {
            Ok(Ok(output)) => {
                let text = output.as_text();
                show_rest(&text, &shown);
                if !output.is_error && !text.contains("[exit code ") {
                    stderr::line(format_args!("{FAINT}[exit code 0]{FAINT:#}"));
                }
                (text, After::Line)
            }
            Ok(Err(ToolError::Timeout(text))) => {
                show_rest(&text, &shown);
                (text, After::Line)
            }
            Ok(Err(error)) => return Ok(failed(&error.to_string())),
            Err(asked) => (format!("{shown}[cancelled by the user]"), cancelled(asked)),
        };
        extensions.close().await;
        self.commands.push(format!("<command>\n{command}\n</command>\n<output>\n{output}\n</output>"));
        let surplus = self.commands.len().saturating_sub(MAX_COMMANDS);
        self.commands.drain(..surplus);
        Ok(after)
    }

    /// Adds the commands since the last message to a message.
    pub(super) fn with_commands(&mut self, message: Message) -> Message {
        let commands = std::mem::take(&mut self.commands);
        let content = commands.into_iter().map(synthetic).chain(message.content);
        Message::new(message.role, content)
    }
}

/// Shows the part of a result that was not shown while the command ran.
fn show_rest(result: &str, shown: &str) {
    let rest = match result.strip_prefix(shown.trim_end_matches('\n')) {
        Some(rest) => rest,
        // The result of a long output is cut in its middle. Its last line says how the command ended.
        None => result.lines().last().filter(|line| line.starts_with('[')).unwrap_or_default(),
    };
    if !rest.trim().is_empty() {
        stderr::line(escape::text(rest.trim_matches('\n')));
    }
}
