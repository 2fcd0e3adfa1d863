//! The recap of a resumed conversation: its last messages, or all of it.

use std::io;

use goose::exchange::Event;
use goose_extension::{JsonObject, RichRenderable};

use super::list::local;
use crate::{
    commands::conversation_setup::EarlierSession,
    escape,
    output::{FAINT, NAME, counted},
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

/// Shows the conversation so far.
pub(crate) fn show(before: &EarlierSession, extent: Extent) -> io::Result<()> {
    if !stderr::is_seen() {
        return Ok(());
    }
    let summary = &before.summary;
    stderr::line(format_args!(
        "{FAINT}Resuming {} ({}), {}, last used {}.{FAINT:#}",
        summary.id,
        escape::line(summary.name()),
        counted(summary.messages, "message"),
        local(summary.updated_at)
    ));
    if before.unfinished {
        stderr::line(format_args!("{FAINT}goose exited during the last reply.{FAINT:#}"));
    }
    if before.skipped > 0 {
        stderr::line(format_args!("{} of its steps cannot be read and are skipped.", before.skipped));
    }
    match extent {
        Extent::Whole => before.events.iter().try_for_each(|event| whole(event, &before.events)),
        Extent::Short => {
            last_words(&before.events);
            Ok(())
        }
    }
}

/// The last question, what tools showed since, and the end of the last answer.
fn last_words(events: &[Event]) {
    let question = events.iter().rposition(|event| said(event).is_some_and(|text| !text.trim().is_empty()));
    let since = &events[question.unwrap_or(0)..];
    show_question(&question.and_then(|at| said(&events[at])).unwrap_or_default());
    let shown: Vec<String> = since.iter().flat_map(|event| shown(event, since)).collect();
    for line in shown.iter().skip(shown.len().saturating_sub(MAX_LINES)) {
        stderr::line(line);
    }
    let answers = events.iter().rev().filter_map(|event| match event {
        Event::Answered(message) => Some(message.own_text()),
        _ => None,
    });
    let answer = answers.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    let answer = rendered(&RichRenderable::Markdown { text: answer.trim().to_owned() });
    if answer.len() > MAX_LINES {
        stderr::line(format_args!("{FAINT}  …{FAINT:#}"));
    }
    answer.iter().skip(answer.len().saturating_sub(MAX_LINES)).for_each(stderr::line);
}

/// The user's words, where this is a message of the user.
fn said(event: &Event) -> Option<String> {
    match event {
        Event::Prompt(message) => Some(message.own_text()),
        _ => None,
    }
}

/// The lines of a log entry, unless they repeat the title of their call.
fn shown(event: &Event, events: &[Event]) -> Vec<String> {
    let Event::Log { call: Some(call), content } = event else { return Vec::new() };
    let arguments = events.iter().find_map(|event| match event {
        Event::ToolStarted { id, arguments, .. } if id == call => Some(arguments.clone()),
        _ => None,
    });
    match tool_call::repeats_title(content, &arguments.unwrap_or_else(JsonObject::new)) {
        true => Vec::new(),
        false => rendered(content),
    }
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

fn whole(event: &Event, events: &[Event]) -> io::Result<()> {
    match event {
        Event::Prompt(message) => {
            for line in escape::text(&message.own_text()).lines() {
                stderr::line(format_args!("{NAME}> {line}{NAME:#}"));
            }
        }
        Event::Text(text) => {
            let mut answer = Answer::new();
            answer.push(text)?;
            answer.end()?;
        }
        Event::ToolStarted { name, arguments, .. } => {
            stderr::line(tool_call::title(name, arguments, size::columns()));
        }
        Event::ToolFinished { output, end, .. } => {
            let lines = tool_call::result(output, *end, Fold::Folded, size::columns());
            lines.into_iter().for_each(stderr::line);
        }
        event => shown(event, events).into_iter().for_each(stderr::line),
    }
    Ok(())
}
