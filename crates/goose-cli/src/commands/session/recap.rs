//! What a resumed conversation shows of before: its last words, or all of it.

use std::{io, sync::Arc};

use goose::exchange::ToolEnd;
use goose_extension::{Message, MessageContent, Role};

use super::list::local;
use crate::{
    aside,
    commands::assemble::Before,
    output::{FAINT, NAME},
    terminal::{
        answer::Answer,
        size,
        tool_call::{self, Fold},
    },
    visible,
};

/// How many lines of the last messages are shown.
const MAX_LINES: usize = 6;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The last question and the end of its answer.
    Short,
    /// All of it.
    Whole,
}

/// Shows what was said before.
pub(crate) fn show(before: &Before, messages: &[Arc<Message>], extent: Extent) -> io::Result<()> {
    if !aside::is_seen() {
        return Ok(());
    }
    let summary = &before.summary;
    aside::line(format_args!(
        "{FAINT}Going on with {} ({}), {} messages, last used {}.{FAINT:#}",
        summary.id,
        visible::line(summary.name()),
        summary.messages,
        local(summary.updated_at)
    ));
    if before.unfinished {
        aside::line(format_args!("{FAINT}goose was ended in the middle of the last reply.{FAINT:#}"));
    }
    if before.skipped > 0 {
        aside::line(format_args!("{} steps of it cannot be read and are left out.", before.skipped));
    }
    match extent {
        Extent::Whole => messages.iter().try_for_each(|message| whole(message)),
        Extent::Short => {
            last_words(messages);
            Ok(())
        }
    }
}

/// The last question, and the end of the last answer.
fn last_words(messages: &[Arc<Message>]) {
    let last = |role: Role| {
        let texts =
            messages.iter().rev().filter(move |message| message.role == role).map(|message| message.text());
        texts.into_iter().find(|text| !text.trim().is_empty())
    };
    for (mark, text) in [(">", last(Role::User)), (" ", last(Role::Assistant))] {
        let Some(text) = text else { continue };
        let all: Vec<&str> = text.trim().lines().collect();
        if all.len() > MAX_LINES {
            aside::line(format_args!("{FAINT}{mark} …{FAINT:#}"));
        }
        for line in all.iter().skip(all.len().saturating_sub(MAX_LINES)) {
            let line = size::fitted(&visible::text(line), size::columns().saturating_sub(3));
            aside::line(format_args!("{FAINT}{mark} {line}{FAINT:#}"));
        }
    }
}

fn whole(message: &Message) -> io::Result<()> {
    for part in &message.content {
        match part {
            MessageContent::ToolCall { name, arguments, .. } => {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                aside::line(tool_call::title(name, &arguments, size::columns()));
            }
            MessageContent::ToolResult { output, .. } => {
                for line in tool_call::result(output, ToolEnd::Ran, Fold::Folded, size::columns()) {
                    aside::line(line);
                }
            }
            part => match part.as_text() {
                Some(text) if message.role == Role::User => {
                    for line in visible::text(text).lines() {
                        aside::line(format_args!("{NAME}> {line}{NAME:#}"));
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
