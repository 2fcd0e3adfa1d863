//! Texts for the model. Everything that comes from other sessions is capped, and its invisible characters are
//! shown.

use std::fmt::Write as _;

use goose_extension::{visible, visible_line};
use goose_fs::{truncate_chars, truncate_lines};
use jiff::{Timestamp, tz::TimeZone};

use super::gist::Gist;
use crate::session::{Found, SearchQuery, SearchResults, SessionId};

/// Maximum length of a search result.
const MAX_RESULT_BYTES: usize = 16 * 1024;

/// Maximum length of a session name in a result.
const MAX_NAME_CHARS: usize = 80;

// Limits of the parts of a gist.
const MAX_TASK_CHARS: usize = 2_000;
const MAX_ANSWER_CHARS: usize = 4_000;
const MAX_PLAN_CHARS: usize = 3_000;
const MAX_PATH_CHARS: usize = 200;
const MAX_FILES_SHOWN: usize = 50;

/// Matches of one session.
pub(super) struct Group<'a> {
    pub(super) session: &'a SessionId,
    pub(super) name: &'a str,
    pub(super) found: Vec<&'a Found>,
}

/// Groups matches by session. The session with the best match comes first.
pub(super) fn groups(found: &[Found]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for found in found {
        match groups.iter_mut().find(|group| *group.session == found.session) {
            Some(group) => group.found.push(found),
            None => groups.push(Group { session: &found.session, name: &found.name, found: vec![found] }),
        }
    }
    groups
}

impl Group<'_> {
    /// Returns the session and its matches, one per line.
    pub(super) fn text(&self) -> String {
        let name = truncate_chars(self.name, MAX_NAME_CHARS);
        let mut text = format!("{}: {}\n", self.session, visible_line(&name));
        for found in &self.found {
            let words = found.snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {} {}: {}", minute(found.at), kind(&found.kind), visible_line(&words));
        }
        text
    }
}

pub(super) fn results(query: &SearchQuery, results: &SearchResults, limit: u32) -> String {
    let mut groups = groups(&results.found);
    groups.truncate(limit as usize);
    let mut text = String::new();
    if groups.is_empty() {
        let within = if query.after.or(query.before).is_some() { " in that time" } else { "" };
        let _ = writeln!(text, "No earlier session{within} has these words. Try fewer or other words.");
    } else {
        let count =
            if groups.len() == 1 { "1 session".to_owned() } else { format!("{} sessions", groups.len()) };
        let _ = writeln!(text, "{count}, best first; times are UTC. Use session_id for the gist of one.\n");
        let listed = groups.iter().map(Group::text).collect::<Vec<_>>().join("\n");
        text += &truncate_lines(listed, MAX_RESULT_BYTES, |_| {
            "More is left out; use a smaller limit.\n".to_owned()
        });
    }
    if results.unindexed > 0 {
        let _ = writeln!(
            text,
            "\n{} older sessions are still being indexed and were not searched. Search again later to include them.",
            results.unindexed
        );
    }
    text
}

pub(super) fn gist(gist: &Gist) -> String {
    let summary = &gist.summary;
    let name = truncate_chars(summary.name(), MAX_NAME_CHARS);
    let folder = summary.working_dir.to_string_lossy();
    let mut text = format!(
        "Session {}: {}\n{} to {} UTC, {} messages, in {}\n",
        summary.id,
        visible_line(&name),
        minute(summary.created_at),
        minute(summary.updated_at),
        summary.messages,
        visible_line(&truncate_chars(&folder, MAX_PATH_CHARS))
    );
    let parts = [
        ("Task", &gist.task, MAX_TASK_CHARS),
        ("Last answer", &gist.answer, MAX_ANSWER_CHARS),
        ("Newest plan", &gist.plan, MAX_PLAN_CHARS),
    ];
    for (title, part, max) in parts {
        if let Some(part) = part {
            let _ = writeln!(text, "\n## {title}\n{}", visible(&truncate_chars(part, max)));
        }
    }
    if !gist.files.is_empty() {
        text += "\n## Files changed\n";
        for path in gist.files.iter().take(MAX_FILES_SHOWN) {
            let _ = writeln!(text, "- {}", visible_line(&truncate_chars(path, MAX_PATH_CHARS)));
        }
        if gist.files.len() > MAX_FILES_SHOWN || gist.has_more_files {
            text += "- and more\n";
        }
    }
    text
}

fn minute(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns the name of a kind of step.
fn kind(kind: &str) -> &str {
    match kind {
        "tool_result" | "nested_result" => "tool result",
        "nested_call" => "tool call",
        other => other,
    }
}
