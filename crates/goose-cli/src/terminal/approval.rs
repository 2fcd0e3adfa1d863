//! Approvals at the terminal: the user sees exactly what would run, and answers.

use std::fmt::Write as _;

use goose::exchange::{self, Approval, ConsentRequest, Decision};
use goose_extension::{JsonObject, RichRenderable};
use serde_json::Value;

use super::{
    diff,
    input::{InputEvent, Turn},
    tool_call,
};
use crate::{
    escape,
    output::{self, FAINT, NAME, WARNING},
    stderr,
};

/// Arguments with content of files. A preview shows them as a change. Without one, a long one is shown by its beginning
/// and its end, and everything else completely: the dangerous line of a command may be any. Editing shows all.
const CONTENT: [(&str, &str); 4] = [
    ("developer__write", "content"),
    ("developer__edit", "before"),
    ("developer__edit", "after"),
    ("developer__edit", "edits"),
];

/// Lines and bytes of the beginning that are shown.
const HEAD_LINES: usize = 200;
const HEAD_BYTES: usize = 24 * 1024;

/// Lines and bytes of the end that are shown.
const TAIL_LINES: usize = 100;
const TAIL_BYTES: usize = 8 * 1024;

/// Lines of a change that are shown.
const CHANGE_LINES: usize = 60;

const PROMPT: &str = "Allow it? ";

/// The user's reaction to a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// This answer.
    Answer(exchange::Answer),
    /// No answer: the whole reply is to be cancelled.
    Cancel,
}

/// A typed answer, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Yes,
    No(Option<String>),
    Always,
    Session,
    Edit,
    /// Show the whole change.
    Change,
    Unclear,
}

/// Asks the user, who has the keyboard for as long.
pub(crate) async fn ask(turn: &Turn, approval: &Approval) -> Said {
    question(approval).into_iter().for_each(stderr::line);
    loop {
        let answer = match turn.answer(PROMPT).await {
            InputEvent::Text(text) => answer(&text),
            InputEvent::Ended | InputEvent::Lost => Answer::No(None),
            InputEvent::Interrupted | InputEvent::Dropped => return Said::Cancel,
        };
        let decision = match answer {
            Answer::Yes => Decision::Allow,
            Answer::Session => Decision::Session,
            Answer::Always if !approval.always.is_empty() => Decision::Always,
            Answer::Always => {
                stderr::line(
                    "  There is no rule for this that would be narrow enough. (s) allows it for this session.",
                );
                continue;
            }
            Answer::Change => {
                change(approval, usize::MAX).into_iter().for_each(stderr::line);
                continue;
            }
            Answer::No(instead) => Decision::Deny { instead },
            Answer::Edit => match edit(turn, &approval.arguments).await {
                Edited::Arguments(arguments) => Decision::Edited(arguments),
                Edited::Unusable => continue,
                Edited::Interrupted => return Said::Cancel,
            },
            Answer::Unclear => {
                choices(approval).into_iter().for_each(stderr::line);
                continue;
            }
        };
        return Said::Answer(decision.into());
    }
}

/// Asks whether an extension may use the model.
pub(crate) async fn ask_consent(turn: &Turn, request: &ConsentRequest) -> Said {
    let extension = escape::line(&request.extension);
    stderr::line(format_args!("{WARNING}?{WARNING:#} {NAME}{extension}{NAME:#} wants to ask the model:"));
    for line in escape::text(&request.prompt).lines() {
        stderr::line(format_args!("    {line}"));
    }
    loop {
        let text = match turn.answer("Allow it? (y)es or (n)o: ").await {
            InputEvent::Text(text) => text,
            InputEvent::Ended | InputEvent::Lost => return Said::Answer(exchange::Answer::Consent(false)),
            InputEvent::Interrupted | InputEvent::Dropped => return Said::Cancel,
        };
        match answer(&text) {
            Answer::Yes => return Said::Answer(exchange::Answer::Consent(true)),
            Answer::No(_) => return Said::Answer(exchange::Answer::Consent(false)),
            _ => {}
        }
    }
}

/// The decision where no user can be asked.
pub(crate) fn refuse(approval: &Approval) -> Decision {
    stderr::line(format_args!(
        "Not run, because there is no terminal to ask for approval: {} {}\nAllow it with a rule in permission.yaml, or set GOOSE_MODE=auto.",
        tool_call::name(&approval.tool),
        escape::json(&serde_json::to_string(&approval.arguments).unwrap_or_default()),
    ));
    let instead = "There is no user at the terminal to approve this. Do what you can without it, and report what is left.";
    Decision::Deny { instead: Some(instead.to_owned()) }
}

/// The lines that put the question.
fn question(approval: &Approval) -> Vec<String> {
    let name = tool_call::name(&approval.tool);
    let what = if approval.preview.is_some() { "make this change" } else { "run this" };
    let mut lines = vec![format!("{WARNING}?{WARNING:#} Allow {NAME}{name}{NAME:#} to {what}?")];
    let mut arguments = shortened(&approval.tool, &approval.arguments);
    if approval.preview.is_some() {
        // The change shows its path and all of the content.
        let is_shown =
            |name: &String| name == "path" || CONTENT.contains(&(approval.tool.as_str(), name.as_str()));
        arguments.retain(|name, _| !is_shown(name));
    }
    let is_plain = approval.preview.is_some() && arguments.is_empty();
    let arguments = if is_plain { String::new() } else { shown(&arguments) };
    lines.extend(arguments.lines().map(|line| format!("    {line}")));
    lines.extend(change(approval, CHANGE_LINES));
    if has_hidden(&approval.arguments) {
        lines.push(format!("  {WARNING}It contains invisible characters, shown as \\u{{…}}.{WARNING:#}"));
    }
    lines.extend(approval.reasons.iter().map(|reason| format!("  {FAINT}{}{FAINT:#}", escape::line(reason))));
    lines.extend(choices(approval));
    lines
}

/// The change that the call would make, up to some lines.
fn change(approval: &Approval, limit: usize) -> Vec<String> {
    match &approval.preview {
        Some(RichRenderable::Diff { path, unified }) => diff::lines(path, unified, limit),
        Some(other) => {
            escape::text(&other.plain()).lines().take(limit).map(|line| format!("    {line}")).collect()
        }
        None => Vec::new(),
    }
}

fn choices(approval: &Approval) -> Vec<String> {
    let mut lines = vec!["  (y)es, (n)o, (n TEXT) no, and tell goose what to do instead, (e)dit".to_owned()];
    if change(approval, usize::MAX).len() > change(approval, CHANGE_LINES).len() {
        lines[0].push_str(", (d) show the whole change");
    }
    let rules = |rules: &[String]| rules.iter().map(|rule| escape::line(rule)).collect::<Vec<_>>().join("; ");
    let session = rules(&approval.session);
    lines.push(match approval.session.is_empty() {
        true => "  (s) yes, and exactly this again in this session".to_owned(),
        false if approval.session == approval.always => {
            format!("  (s) yes, for this session, or (a)lways: {session}")
        }
        false => format!("  (s) yes, for this session: {session}"),
    });
    lines
}

/// The arguments with a short form of content of files.
fn shortened(tool: &str, arguments: &JsonObject) -> JsonObject {
    let mut arguments = arguments.clone();
    for (of_tool, name) in CONTENT {
        if tool == of_tool
            && let Some(Value::String(text)) = arguments.get_mut(name)
            && let Some(short) = head_and_tail(text)
        {
            *text = short;
        }
    }
    arguments
}

/// The beginning and the end of a text, with the size of what is between; `None` if that is all of it.
fn head_and_tail(text: &str) -> Option<String> {
    let head_lines = text.match_indices('\n').nth(HEAD_LINES - 1).map_or(text.len(), |(at, _)| at + 1);
    let tail_lines = text.rmatch_indices('\n').nth(TAIL_LINES).map_or(0, |(at, _)| at + 1);
    let head = head_lines.min(text.floor_char_boundary(HEAD_BYTES));
    let tail = tail_lines.max(text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES)));
    let between = text.get(head..tail).filter(|between| !between.is_empty())?;
    let lines = output::counted(between.lines().count() as u64, "line");
    let size = output::byte_size(between.len() as u64);
    let break_before = if text[..head].ends_with('\n') { "" } else { "\n" };
    Some(format!(
        "{}{break_before}… {lines}, {size} between; `edit` shows all …\n{}",
        &text[..head],
        &text[tail..]
    ))
}

/// Exactly the arguments of the tool: text as it is, everything else as JSON.
fn shown(arguments: &JsonObject) -> String {
    let mut shown = String::new();
    for (name, value) in arguments {
        let name = escape::line(name);
        // Writing into a string cannot fail.
        let _ = match value {
            Value::String(text) if text.contains('\n') => {
                let text = escape::text(text);
                let lines: Vec<String> = text.split('\n').map(|line| format!("  {line}")).collect();
                writeln!(shown, "{name}:\n{}", lines.join("\n"))
            }
            Value::String(text) => writeln!(shown, "{name}: {}", escape::line(text)),
            value => {
                let json = serde_json::to_string_pretty(value).unwrap_or_default();
                writeln!(shown, "{name}: {}", escape::json(&json))
            }
        };
    }
    if shown.is_empty() { "(nothing)".to_owned() } else { shown }
}

fn has_hidden(arguments: &JsonObject) -> bool {
    arguments.iter().any(|(name, value)| is_escaped(name) || holds_hidden(value))
}

fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => is_escaped(text),
        Value::Array(items) => items.iter().any(holds_hidden),
        Value::Object(object) => has_hidden(object),
        _ => false,
    }
}

fn is_escaped(text: &str) -> bool {
    escape::text(text) != text
}

/// Parses an answer.
fn answer(text: &str) -> Answer {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let words = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    match (word.to_ascii_lowercase().trim_end_matches([',', ':', '.']), &words) {
        ("y" | "yes", None) => Answer::Yes,
        ("n" | "no", _) => Answer::No(words),
        ("s" | "session", None) => Answer::Session,
        ("a" | "always", None) => Answer::Always,
        ("d" | "diff", None) => Answer::Change,
        ("e" | "edit", None) => Answer::Edit,
        _ => Answer::Unclear,
    }
}

/// The result of editing the arguments.
enum Edited {
    Arguments(JsonObject),
    /// They were not changed, or are not an object.
    Unusable,
    /// Ctrl-C.
    Interrupted,
}

/// Lets the user change the arguments: in their editor, or on the line where there is none.
async fn edit(turn: &Turn, arguments: &JsonObject) -> Edited {
    let pretty = escape::json(&serde_json::to_string_pretty(arguments).unwrap_or_default());
    let mut typed = turn.edit(&pretty, ".json").await;
    if typed == InputEvent::Ended {
        let line = escape::json(&serde_json::to_string(arguments).unwrap_or_default());
        typed = turn.change("Arguments as JSON: ", &line).await;
    }
    let text = match typed {
        InputEvent::Text(text) => text,
        InputEvent::Interrupted | InputEvent::Dropped => return Edited::Interrupted,
        InputEvent::Ended | InputEvent::Lost => return Edited::Unusable,
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => {
            stderr::line(format_args!("{FAINT}It is given:{FAINT:#}"));
            for line in shown(&arguments).lines() {
                stderr::line(format_args!("    {line}"));
            }
            Edited::Arguments(arguments)
        }
        Ok(_) => unusable("they are no object"),
        Err(error) => unusable(&error.to_string()),
    }
}

fn unusable(why: &str) -> Edited {
    stderr::line(format_args!("  These arguments cannot be used: {}.", escape::line(why)));
    Edited::Unusable
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_understood_or_asked_again() {
        let no = |words: &str| Answer::No(Some(words.to_owned()));
        let cases = [
            ("y", Answer::Yes),
            ("Yes ", Answer::Yes),
            ("n", Answer::No(None)),
            ("no, use rg instead", no("use rg instead")),
            ("n run the tests first", no("run the tests first")),
            ("always", Answer::Always),
            ("s", Answer::Session),
            ("d", Answer::Change),
            ("e", Answer::Edit),
            ("", Answer::Unclear),
            ("yes please do", Answer::Unclear),
            ("what?", Answer::Unclear),
        ];
        for (text, expected) in cases {
            assert_eq!(answer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn long_commands_are_shown_whole_and_long_content_by_both_ends() {
        let long: String = (1..=1500).map(|line| format!("line {line}\n")).collect();
        let asked = |tool: &str, name: &str, text: &str| {
            let arguments = json!({ name: text }).as_object().cloned().unwrap();
            shown(&shortened(tool, &arguments))
        };
        for (tool, name) in [("developer__shell", "command"), ("other__tool", "content")] {
            let text = asked(tool, name, &long);
            assert_eq!(text.lines().filter(|line| line.starts_with("  line ")).count(), 1500, "{tool}");
        }
        let text = asked("developer__write", "content", &long);
        let shown: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(shown[200], "  line 200");
        assert_eq!(shown[201], "  … 1200 lines, 11.2 kB between; `edit` shows all …");
        assert_eq!((shown[202], shown[301]), ("  line 1401", "  line 1500"));
        let text = asked("developer__write", "content", &"é".repeat(50_000));
        assert!(text.len() < 33_000 && text.contains("… 1 line, 67.2 kB between"), "{}", text.len());
        let short = &long[..1000];
        assert!(!asked("developer__write", "content", short).contains('…'));
    }

    /// The person sees exactly what would run.
    #[test]
    fn what_would_run_is_shown_whole_and_escaped() {
        let arguments =
            json!({"command": "echo a\nrm -rf \u{202e}x", "deep": {"a\u{200b}": ["\u{1b}[8m"]}, "n": 1});
        let arguments = arguments.as_object().unwrap();
        assert_eq!(
            shown(arguments),
            "command:\n  echo a\n  rm -rf \\u{202e}x\ndeep: {\n  \"a\\u200b\": [\n    \"\\u001b[8m\"\n  ]\n}\nn: 1\n"
        );
        assert!(has_hidden(arguments));
        assert!(!has_hidden(json!({"command": "ls\n\tümläut"}).as_object().unwrap()));
    }
}
