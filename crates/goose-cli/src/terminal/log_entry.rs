//! Lines of a log entry: a diff, Markdown, code, JSON or plain text.

use goose_extension::RichRenderable;

use super::{diff, markdown::Markdown, size};
use crate::{escape, output::FAINT};

/// Returns the lines of a log entry.
pub(crate) fn rendered(content: &RichRenderable) -> Vec<String> {
    match content {
        RichRenderable::Diff { path, unified } => diff::lines(path, unified, diff::MAX_LINES),
        RichRenderable::Markdown { text } => indented(&set(text)),
        RichRenderable::Code { language, text } => indented(&set(&format!("````{language}\n{text}\n````"))),
        RichRenderable::Json { value } => {
            let json = serde_json::to_string_pretty(value).unwrap_or_default();
            faint(&escape::json(&json))
        }
        other => faint(&escape::text(&other.plain())),
    }
}

fn set(text: &str) -> String {
    let mut markdown = Markdown::new(size::text_width().saturating_sub(2));
    markdown.push(text) + &markdown.finish()
}

fn indented(text: &str) -> Vec<String> {
    text.lines().map(|line| format!("  {line}")).collect()
}

/// Returns indented lines in faint style.
pub(super) fn faint(text: &str) -> Vec<String> {
    text.lines().map(|line| format!("  {FAINT}{line}{FAINT:#}")).collect()
}
