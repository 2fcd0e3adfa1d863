//! Tool calls as an editor shows them: title, kind, files, and content with diffs.

use std::path::Path;

use goose_extension::{ContentBlock, JsonObject, RichRenderable, visible_line};
use serde_json::{Value, json};

/// Maximum number of characters of a title.
const MAX_TITLE: usize = 200;

/// Arguments that name files.
const FILES: [&str; 2] = ["path", "paths"];

/// Arguments that say most about a call, by preference.
const TELLING: [&str; 8] = ["command", "path", "pattern", "query", "url", "uri", "name", "instructions"];

/// Returns the description of a call: its id, title, kind, files and arguments.
pub(super) fn described(id: &str, tool: &str, arguments: &JsonObject, folder: &Path) -> Value {
    json!({
        "toolCallId": id,
        "title": title(tool, arguments),
        "kind": kind(tool),
        "locations": locations(arguments, folder),
        "rawInput": arguments,
    })
}

fn kind(tool: &str) -> &'static str {
    match tool.strip_prefix("developer__").unwrap_or(tool) {
        "shell" => "execute",
        "read" | "load" => "read",
        "write" | "edit" => "edit",
        "search" | "tree" | "analyze" => "search",
        "plan" | "todo__todo_write" | "delegate" => "think",
        _ => "other",
    }
}

fn title(tool: &str, arguments: &JsonObject) -> String {
    let name = match tool.strip_prefix("developer__") {
        Some(own) => own.to_owned(),
        None => tool.replacen("__", ": ", 1),
    };
    let telling = TELLING.iter().find_map(|name| arguments.get(*name).and_then(Value::as_str));
    let title = match telling.map(|text| text.lines().next().unwrap_or_default()) {
        Some(command) if name == "shell" => command.to_owned(),
        Some(text) => format!("{name} {text}"),
        None => name,
    };
    visible_line(&goose_fs::truncate_chars(&title, MAX_TITLE)).into_owned()
}

/// Returns the files that the arguments name.
fn locations(arguments: &JsonObject, folder: &Path) -> Vec<Value> {
    let named = FILES.iter().filter_map(|name| arguments.get(*name));
    let paths = named.flat_map(|value| match value {
        Value::Array(paths) => paths.iter().filter_map(Value::as_str).collect(),
        value => value.as_str().into_iter().collect::<Vec<_>>(),
    });
    let line = arguments.get("offset").or_else(|| arguments.get("line")).and_then(Value::as_u64);
    let location = |path: &str| match line {
        Some(line) => json!({"path": folder.join(path), "line": line}),
        None => json!({"path": folder.join(path)}),
    };
    paths.map(location).collect()
}

/// Returns a text as content of a call.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// Returns a part of a tool's output as content of a call.
pub(super) fn block(block: &ContentBlock) -> Value {
    json!({"type": "content", "content": block})
}

/// Returns something that a tool shows as content of its call. A diff is one entry for each changed place.
pub(super) fn content(shown: &RichRenderable, folder: &Path) -> Vec<Value> {
    match shown {
        RichRenderable::Diff { path, unified } => {
            let path = folder.join(path);
            let diff = |(old, new): (Option<String>, String)| json!({"type": "diff", "path": path, "oldText": old, "newText": new});
            hunks(unified).into_iter().map(diff).collect()
        }
        RichRenderable::Code { language, text: code } => vec![text(&format!("```{language}\n{code}\n```"))],
        shown => vec![text(&shown.plain())],
    }
}

/// Returns the old and the new text of each place in a unified diff. A new file has no old text.
fn hunks(unified: &str) -> Vec<(Option<String>, String)> {
    let mut hunks: Vec<(Option<String>, String)> = Vec::new();
    for line in unified.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            let is_new = header.starts_with("-0,0 ");
            hunks.push(((!is_new).then(String::new), String::new()));
            continue;
        }
        let Some((old, new)) = hunks.last_mut() else { continue };
        let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let mut add = |to: &mut String| {
            to.push_str(text);
            to.push('\n');
        };
        match mark {
            "-" => old.iter_mut().for_each(&mut add),
            "+" => add(new),
            " " => {
                old.iter_mut().for_each(&mut add);
                add(new);
            }
            // A note such as "no newline at end of file".
            _ => {}
        }
    }
    hunks
}

/// Returns the entries of a Markdown checklist as a plan; none if it is not one.
pub(super) fn plan(markdown: &str) -> Option<Value> {
    let entry = |line: &str| {
        let line = line.trim_start();
        let rest = ["- [", "* [", "+ ["].iter().find_map(|bullet| line.strip_prefix(bullet));
        let numbered = || line.trim_start_matches(|it: char| it.is_ascii_digit()).strip_prefix(". [");
        let (mark, text) = rest.or_else(numbered)?.split_once(']')?;
        let is_done = mark.eq_ignore_ascii_case("x");
        Some((is_done, text.trim().to_owned()))
    };
    let entries: Vec<(bool, String)> = markdown.lines().filter_map(entry).collect();
    let next = entries.iter().position(|(is_done, _)| !is_done);
    let entries: Vec<Value> = entries
        .iter()
        .enumerate()
        .map(|(at, (is_done, text))| {
            let status = match (is_done, Some(at) == next) {
                (true, _) => "completed",
                (false, true) => "in_progress",
                (false, false) => "pending",
            };
            json!({"content": text, "priority": "medium", "status": status})
        })
        .collect();
    (!entries.is_empty()).then(|| json!({"sessionUpdate": "plan", "entries": entries}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_the_old_and_the_new_text_of_each_place() {
        let unified = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9,2 @@\n end\n+more\n\\ No newline at end of file\n";
        let expected = [
            (Some("same\nold\n".to_owned()), "same\nnew\n".to_owned()),
            (Some("end\n".to_owned()), "end\nmore\n".to_owned()),
        ];
        assert_eq!(hunks(unified), expected);
        assert_eq!(hunks("@@ -0,0 +1 @@\n+first\n"), [(None, "first\n".to_owned())]);
        assert_eq!(hunks("nothing"), []);
    }

    #[test]
    fn calls_have_titles_kinds_and_files() {
        let arguments = |value: Value| value.as_object().cloned().unwrap();
        let folder = Path::new("/work");
        let call = described("1", "developer__shell", &arguments(json!({"command": "ls -l\nrm x"})), folder);
        assert_eq!((&call["title"], &call["kind"]), (&json!("ls -l"), &json!("execute")));
        let call =
            described("1", "developer__read", &arguments(json!({"path": "a.rs", "offset": 7})), folder);
        assert_eq!(call["locations"], json!([{"path": "/work/a.rs", "line": 7}]));
        let call = described("1", "server__echo", &arguments(json!({"n": 1})), folder);
        assert_eq!((&call["title"], &call["kind"]), (&json!("server: echo"), &json!("other")));
    }

    #[test]
    fn a_checklist_is_a_plan() {
        let plan = plan("Steps:\n- [x] one\n- [ ] two\n2. [ ] three").unwrap();
        let statuses: Vec<&str> =
            plan["entries"].as_array().unwrap().iter().filter_map(|entry| entry["status"].as_str()).collect();
        assert_eq!(statuses, ["completed", "in_progress", "pending"]);
        assert!(super::plan("no list").is_none());
    }
}
