//! Tool calls at the terminal: one line for the call, a few for its result.

use std::borrow::Cow;

use goose::exchange::ToolEnd;
use goose_extension::{ContentBlock, JsonObject, RichRenderable, ToolOutput};
use serde_json::Value;

use super::size::fitted;
use crate::{
    escape,
    output::{BAD, FAINT, NAME, WARNING},
};

/// Lines of a result that are shown.
const MAX_RESULT_LINES: usize = 4;

/// Lines of an error that are shown, from its beginning and its end, where the cause usually is.
const ERROR_HEAD_LINES: usize = 3;
const ERROR_TAIL_LINES: usize = 7;

/// The extension whose tools are shown by their own names.
const OWN: &str = "developer__";

/// The separator between extension and tool in a tool's full name.
const SEPARATOR: &str = "__";

/// Arguments that summarize a call, by preference.
const TELLING: &[&str] =
    &["command", "path", "pattern", "query", "url", "uri", "name", "category", "instructions", "source"];

/// The display name of a tool: `shell`, `memory: remember_memory`.
pub(crate) fn name(tool: &str) -> Cow<'_, str> {
    match tool.strip_prefix(OWN) {
        Some(own) => escape::line(own),
        None => Cow::Owned(escape::line(tool).replacen(SEPARATOR, ": ", 1)),
    }
}

/// The line that shows a call.
pub(crate) fn title(tool: &str, arguments: &JsonObject, width: usize) -> String {
    let name = name(tool);
    let room = width.saturating_sub(name.chars().count() + 4);
    let gist = fitted(&gist(arguments), room);
    format!("{WARNING}▸{WARNING:#} {NAME}{name}{NAME:#}  {gist}").trim_end().to_owned()
}

/// Returns true if a log entry only repeats the title line of its call, such as a shell command.
pub(crate) fn repeats_title(content: &RichRenderable, arguments: &JsonObject) -> bool {
    let is_plain = matches!(content, RichRenderable::Text { .. } | RichRenderable::Code { .. });
    is_plain && telling(arguments).is_some_and(|shown| content.plain().trim().ends_with(shown.trim()))
}

fn telling(arguments: &JsonObject) -> Option<&str> {
    let only = || arguments.values().next().filter(|_| arguments.len() == 1);
    let known = TELLING.iter().find_map(|name| arguments.get(*name).and_then(Value::as_str));
    known.or_else(|| only().filter(|value| !is_long(value)).and_then(Value::as_str))
}

/// Returns true for a text of several lines, which a title cannot show.
fn is_long(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\n') || text.contains("\\n"))
}

/// A summary of the arguments on one line.
fn gist(arguments: &JsonObject) -> String {
    match telling(arguments) {
        Some(text) => escape::line(text.trim()).into_owned(),
        None if arguments.is_empty() || arguments.values().any(is_long) => String::new(),
        None => escape::json(&serde_json::to_string(arguments).unwrap_or_default()),
    }
}

/// The part of a result that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Its first lines, and of an error the last ones as well.
    Folded,
    /// All of it.
    Open,
}

/// The lines that show the result of a call.
pub(crate) fn result(output: &ToolOutput, end: ToolEnd, fold: Fold, width: usize) -> Vec<String> {
    let text = text(output);
    let (style, head, tail) = match end {
        ToolEnd::Ran if !output.is_error => (FAINT, MAX_RESULT_LINES, 0),
        ToolEnd::Ran => (BAD, ERROR_HEAD_LINES, ERROR_TAIL_LINES),
        _ => (WARNING, ERROR_HEAD_LINES, ERROR_TAIL_LINES),
    };
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let head = if fold == Fold::Open || all.len() <= head + tail { all.len() } else { head };
    let tail_at = all.len().saturating_sub(tail).max(head);
    let room = width.saturating_sub(4);
    let line = |line: &&str| {
        let line = fitted(&escape::text(line.trim_end()).replace('\t', "    "), room);
        format!("  {style}{line}{style:#}")
    };
    let mut lines: Vec<String> = all[..head].iter().map(line).collect();
    match tail_at - head {
        0 => {}
        1 => lines.push(format!("  {FAINT}… 1 more line{FAINT:#}")),
        left => lines.push(format!("  {FAINT}… {left} more lines{FAINT:#}")),
    }
    lines.extend(all[tail_at..].iter().map(line));
    lines
}

fn text(output: &ToolOutput) -> String {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image: {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio: {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[link: {}]", link.uri),
        _ => "[resource]".to_owned(),
    };
    output.content.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// The last lines of output of a running tool.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: Vec<String>,
    /// The last line, if it is incomplete.
    begun: String,
}

/// Lines of a running tool that are shown.
pub(crate) const TAIL_LINES: usize = 3;

/// Bytes of one line that are kept.
const MAX_TAIL_LINE: usize = 500;

impl Tail {
    /// Adds output.
    pub(crate) fn push(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => self.end_line(),
                // A line that is written over.
                '\r' => self.begun.clear(),
                c if self.begun.len() < MAX_TAIL_LINE => self.begun.push(c),
                _ => {}
            }
        }
    }

    /// Adds a report, which is a line even if it has no line end.
    pub(crate) fn push_report(&mut self, text: &str) {
        self.push(text);
        self.end_line();
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        if !line.trim().is_empty() {
            self.lines.push(line);
        }
        if self.lines.len() > TAIL_LINES {
            self.lines.remove(0);
        }
    }

    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let begun = Some(self.begun.as_str()).filter(|line| !line.trim().is_empty());
        let all: Vec<&str> = self.lines.iter().map(String::as_str).chain(begun).collect();
        all[all.len().saturating_sub(TAIL_LINES)..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    fn shown(tool: &str, arguments: Value) -> String {
        let Value::Object(arguments) = arguments else { unreachable!("an object") };
        strip_str(&title(tool, &arguments, 40)).to_string()
    }

    #[test]
    fn a_call_is_one_line() {
        assert_eq!(shown("developer__shell", json!({"command": "cargo test"})), "▸ shell  cargo test");
        assert_eq!(shown("memory__remember", json!({"a": 1})), "▸ memory: remember  {\"a\":1}");
        assert_eq!(shown("developer__shell", json!({"command": "a\nb"})), "▸ shell  a\\nb");
        assert_eq!(shown("todo__todo_write", json!({"content": "- [ ] a"})), "▸ todo: todo_write  - [ ] a");
        let long = shown("developer__shell", json!({ "command": "x".repeat(100) }));
        assert!(long.ends_with("x…") && long.chars().count() <= 40, "{long}");
        assert_eq!(shown("x__list", json!({})), "▸ x: list");
        let task = json!({"async": true, "instructions": "Count the files", "source": "judge"});
        assert_eq!(shown("delegate", task), "▸ delegate  Count the files");
    }

    #[test]
    fn a_log_entry_that_repeats_the_title_is_found() {
        let arguments = json!({"command": "cargo test"}).as_object().unwrap().clone();
        assert!(repeats_title(&"cargo test\n".into(), &arguments));
        assert!(repeats_title(&"$ cargo test".into(), &arguments));
        assert!(!repeats_title(&"cargo build".into(), &arguments));
        assert!(!repeats_title(&"cargo test".into(), &JsonObject::new()));
    }

    /// Nothing that a model writes moves the cursor or hides text.
    #[test]
    fn what_could_mislead_is_escaped() {
        let command = "ls \u{1b}[8m; rm -rf x \u{202e}\u{200b}";
        let shown = strip_str(&title(
            "a\u{202e}__b\u{1b}",
            &json!({"command": command}).as_object().unwrap().clone(),
            100,
        ))
        .to_string();
        assert_eq!(shown, "▸ a\\u{202e}: b\\u{1b}  ls \\u{1b}[8m; rm -rf x \\u{202e}\\u{200b}");
        let output = ToolOutput::text("\u{1b}]0;title\u{7}\u{e0041}");
        let lines = result(&output, ToolEnd::Ran, Fold::Folded, 80);
        assert_eq!(strip_str(&lines[0]).to_string(), "  \\u{1b}]0;title\\u{7}\\u{e0041}");
    }

    #[test]
    fn results_are_folded() {
        let output = ToolOutput::text("one\n\ntwo\nthree\nfour\nfive\nsix\n");
        let lines = result(&output, ToolEnd::Ran, Fold::Folded, 80).join("\n");
        assert_eq!(strip_str(&lines).to_string(), "  one\n  two\n  three\n  four\n  … 2 more lines");
        let failed = result(&ToolOutput::error("no such file"), ToolEnd::Ran, Fold::Folded, 80).join("\n");
        assert!(failed.contains("\u{1b}[31m"), "{failed:?}");
    }

    #[test]
    fn the_last_lines_are_kept() {
        let mut tail = Tail::default();
        tail.push("one\ntwo\nthree\nfo");
        assert_eq!(tail.lines(), ["two", "three", "fo"]);
        tail.push("ur\n10%\r20%\r30%");
        assert_eq!(tail.lines(), ["three", "four", "30%"]);
        tail.push_report("step 1");
        tail.push_report("step 2\n");
        assert_eq!(tail.lines(), ["four", "30%step 1", "step 2"]);
    }
}
