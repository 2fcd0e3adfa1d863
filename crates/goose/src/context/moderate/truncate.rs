//! The oldest pieces go. The task and the plan stay, and a line says that something is missing.

use std::sync::Arc;

use goose_extension::Message;

use super::{Goal, Room, plan, units::Units};
use crate::context::tokens;

/// How much of the first task is repeated.
const MAX_TASK_CHARS: usize = 4_000;

/// The conversation without its oldest pieces.
pub(super) fn oldest(units: &Units<'_>, goal: &Goal<'_>) -> Room {
    let first = first_kept(units, goal);
    let mut messages = vec![Arc::new(Message::user(opening(units, first, None)))];
    messages.extend(units.from(first));
    Room { messages, usage: None, notice: None }
}

/// The first piece that stays: as many from the end as the goal allows, the recent ones in any case.
pub(super) fn first_kept(units: &Units<'_>, goal: &Goal<'_>) -> usize {
    let (older, recent) = units.split();
    let weight = |unit: &[Arc<Message>]| unit.iter().map(|message| tokens::of_message(message)).sum::<u64>();
    let fixed = goal.used(&[]);
    let mut used = fixed + recent.iter().map(|unit| weight(unit)).sum::<u64>();
    let mut first = older.len();
    for unit in older.iter().rev() {
        used += weight(unit);
        if used > goal.tokens {
            break;
        }
        first -= 1;
    }
    first
}

/// What stands in the place of the pieces before `first`.
pub(super) fn opening(units: &Units<'_>, first: usize, summary: Option<&str>) -> String {
    let before = units.before(first);
    let mut parts = vec![match summary {
        Some(_) => "[The earlier part of this conversation was summarized to make room.]".to_owned(),
        None => "[The earlier part of this conversation was left out to make room.]".to_owned(),
    }];
    if let Some(task) = units.task().filter(|_| first > 0) {
        parts.push(format!("The task, as it was first given:\n{}", cut(&task.text(), MAX_TASK_CHARS)));
    }
    if let Some(summary) = summary {
        parts.push(format!("What has happened so far:\n{}", summary.trim()));
    }
    if let Some((_, request)) = units.last_request().filter(|(index, _)| *index > 0 && *index < first) {
        parts.push(format!("What the user asked last:\n{}", cut(&request.text(), MAX_TASK_CHARS)));
    }
    if let Some(plan) = plan::newest(before.iter().flat_map(|unit| unit.iter())) {
        parts.push(format!("The plan as it stands:\n{plan}"));
    }
    parts.join("\n\n")
}

fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
