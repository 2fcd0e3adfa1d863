//! The recap of a resumed conversation: its last messages, or all of it.

use std::{io, sync::Arc};

use goose::{
    exchange::ToolEnd,
    session::{Step, StoredStep},
};
use goose_extension::{JsonObject, Message, MessageContent, RichRenderable, Role};

use super::list::{local, message_count};
use crate::{
    commands::conversation_setup::EarlierSession,
    escape,
    output::{FAINT, NAME},
    stderr,
    terminal::{
        answer::Answer,
        log_entry::rendered,
        size,
        tool_call::{self, Fold},
    },
};

/// Lines of each of the last messages that are shown.
const MAX_LINES: usize = 6;

/// The part that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The last question and the end of its answer.
    Short,
    /// All of it.
    Whole,
}

/// Log entries of tools, by call.
#[derive(Debug, Default)]
pub(crate) struct LoggedEntries(Vec<(Option<String>, RichRenderable)>);

impl LoggedEntries {
    /// The log entries among these steps.
    pub(crate) fn from_steps(steps: &[StoredStep]) -> Self {
        let entry = |stored: &StoredStep| match &stored.step {
            Step::Log { call, content } => Some((call.clone(), content.clone())),
            _ => None,
        };
        Self(steps.iter().filter_map(entry).collect())
    }

    /// The lines that a call has shown, besides its title.
    fn of_call(&self, id: &str, arguments: &JsonObject) -> Vec<String> {
        let of_call = |(call, content): &&(Option<String>, RichRenderable)| {
            call.as_deref() == Some(id) && !tool_call::repeats_title(content, arguments)
        };
        self.0.iter().filter(of_call).flat_map(|(_, content)| rendered(content)).collect()
    }
}

/// Shows the conversation so far.
pub(crate) fn show(before: &EarlierSession, messages: &[Arc<Message>], extent: Extent) -> io::Result<()> {
    if !stderr::is_seen() {
        return Ok(());
    }
    let summary = &before.summary;
    stderr::line(format_args!(
        "{FAINT}Resuming {} ({}), {}, last used {}.{FAINT:#}",
        summary.id,
        escape::line(summary.name()),
        message_count(summary.messages),
        local(summary.updated_at)
    ));
    if before.unfinished {
        stderr::line(format_args!("{FAINT}goose exited during the last reply.{FAINT:#}"));
    }
    if before.skipped > 0 {
        stderr::line(format_args!("{} of its steps cannot be read and are skipped.", before.skipped));
    }
    match extent {
        Extent::Whole => messages.iter().try_for_each(|message| whole(message, &before.logs)),
        Extent::Short => {
            last_words(messages, &before.logs);
            Ok(())
        }
    }
}

/// The last question, what tools showed since, and the end of the last answer.
fn last_words(messages: &[Arc<Message>], logs: &LoggedEntries) {
    let last = |role: Role| {
        let texts =
            messages.iter().rev().filter(|message| message.role == role).map(|message| message.own_text());
        texts.into_iter().find(|text| !text.trim().is_empty())
    };
    let shown = since_question(messages).iter().flat_map(|message| &message.content);
    let shown: Vec<String> = shown.flat_map(|part| logs_of(part, logs)).collect();
    show_question(last(Role::User).as_deref().unwrap_or_default());
    for line in shown.iter().skip(shown.len().saturating_sub(MAX_LINES)) {
        stderr::line(line);
    }
    let answer = last(Role::Assistant).unwrap_or_default();
    let answer = rendered(&RichRenderable::Markdown { text: answer.trim().to_owned() });
    if answer.len() > MAX_LINES {
        stderr::line(format_args!("{FAINT}  …{FAINT:#}"));
    }
    answer.iter().skip(answer.len().saturating_sub(MAX_LINES)).for_each(stderr::line);
}

/// The lines that a call has shown, where this is a call.
fn logs_of(part: &MessageContent, logs: &LoggedEntries) -> Vec<String> {
    match part {
        MessageContent::ToolCall { id, arguments, .. } => {
            logs.of_call(id, arguments.as_object().unwrap_or(&JsonObject::new()))
        }
        _ => Vec::new(),
    }
}

/// The messages after the user's last words.
fn since_question(messages: &[Arc<Message>]) -> &[Arc<Message>] {
    let is_question =
        |message: &Arc<Message>| message.role == Role::User && !message.own_text().trim().is_empty();
    let at = messages.iter().rposition(is_question);
    &messages[at.unwrap_or(0)..]
}

/// Shows the last lines of what the user said.
fn show_question(text: &str) {
    let all: Vec<&str> = text.trim().lines().collect();
    if all.len() > MAX_LINES {
        stderr::line(format_args!("{FAINT}> …{FAINT:#}"));
    }
    for line in all.iter().skip(all.len().saturating_sub(MAX_LINES)) {
        let line = size::fitted(&escape::text(line), size::columns().saturating_sub(3));
        stderr::line(format_args!("{FAINT}> {line}{FAINT:#}"));
    }
}

fn whole(message: &Message, logs: &LoggedEntries) -> io::Result<()> {
    for part in message.content.iter().filter(|part| !part.is_aside()) {
        match part {
            MessageContent::ToolCall { name, arguments, .. } => {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                stderr::line(tool_call::title(name, &arguments, size::columns()));
                logs_of(part, logs).into_iter().for_each(stderr::line);
            }
            MessageContent::ToolResult { output, .. } => {
                for line in tool_call::result(output, ToolEnd::Ran, Fold::Folded, size::columns()) {
                    stderr::line(line);
                }
            }
            part => match part.as_text() {
                Some(text) if message.role == Role::User => {
                    for line in escape::text(text).lines() {
                        stderr::line(format_args!("{NAME}> {line}{NAME:#}"));
                    }
                }
                Some(text) => {
                    let mut answer = Answer::new();
                    answer.push(text)?;
                    answer.end()?;
                }
                None => {}
            },
        }
    }
    Ok(())
}
