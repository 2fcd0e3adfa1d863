//! Messages for a test that differs from its recording, with the differing lines.

use std::{collections::HashMap, fmt::Write as _};

use serde_json::Value;

use super::{HOW_TO_RECORD, script::Script};

/// Recorded requests that are compared with an unknown one.
const MAX_CANDIDATES: usize = 1000;

/// Listed requests that were not made.
const MAX_UNUSED: usize = 50;

/// Shown characters of a request's parameters.
const MAX_PARAMS: usize = 200;

/// A request that no unused script fits. `is_used` tells which are used, by their place.
pub(super) fn unknown(
    method: &str,
    params: Option<&Value>,
    scripts: &[Script],
    is_used: impl Fn(usize) -> bool,
) -> String {
    let text = match nearest(method, params, scripts, is_used) {
        None => no_such_method(method, params, scripts),
        Some(script) if script.params.as_ref() == params => {
            let fits = |it: &&Script| it.method == method && it.params.as_ref() == params;
            let times = scripts.iter().filter(fits).count();
            let brief = brief(script);
            format!("This was made once more than recorded; it was recorded {times} times:\n{brief}")
        }
        Some(script) => format!(
            "The recording does not know this `{method}`. The nearest recorded one differs:\n{}",
            unified(&lines(script.params.as_ref()), &lines(params))
        ),
    };
    format!("{}\n{HOW_TO_RECORD}", text.trim_end())
}

fn no_such_method(method: &str, params: Option<&Value>, scripts: &[Script]) -> String {
    let params = lines(params).join("\n");
    format!("The recording has no `{method}`. It has: {}.\nMade with:\n{params}", methods(scripts))
}

/// The recorded request of the same method that has most in common with the parameters; of several that are as near,
/// the first, and rather one that is not used.
fn nearest<'a>(
    method: &str,
    params: Option<&Value>,
    scripts: &'a [Script],
    is_used: impl Fn(usize) -> bool,
) -> Option<&'a Script> {
    let made = lines(params);
    let rank = |(place, script): &(usize, &Script)| {
        let common = likeness(&lines(script.params.as_ref()), &made);
        (script.params.as_ref() == params, common, !is_used(*place))
    };
    let candidates = scripts.iter().enumerate().filter(|(_, script)| script.method == method);
    let ranked = candidates.take(MAX_CANDIDATES).map(|candidate| (rank(&candidate), candidate.1));
    ranked.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, script)| script)
}

fn methods(scripts: &[Script]) -> String {
    let mut methods: Vec<&str> = scripts.iter().map(|script| script.method.as_str()).collect();
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() { "nothing".to_owned() } else { methods.join(", ") }
}

/// An answer of ours that is not the recorded one.
pub(super) fn other_answer(recorded: &Value, made: &Value, method: &str) -> String {
    let differences = unified(&lines(Some(recorded)), &lines(Some(made)));
    format!(
        "A question of the server during `{method}` was answered otherwise than recorded:\n{}\n{HOW_TO_RECORD}",
        differences.trim_end()
    )
}

/// A recorded message that cannot be parsed.
pub(super) fn unreadable(method: &str, reason: &dyn std::fmt::Display) -> String {
    format!(
        "A recorded message of the server after `{method}` is not an MCP message: {reason}.\n{HOW_TO_RECORD}"
    )
}

/// All that differs, or that nothing does.
pub(super) fn verdict(faults: &[String], unused: &[&Script]) -> Result<(), String> {
    if faults.is_empty() && unused.is_empty() {
        return Ok(());
    }
    let mut text = faults.join("\n\n");
    if !unused.is_empty() {
        let _ = write!(text, "\n\n{} recorded requests were not made:", unused.len());
        for script in unused.iter().take(MAX_UNUSED) {
            let _ = write!(text, "\n- {}", brief(script));
        }
    }
    Err(text.trim_start().to_owned())
}

/// A request in one line, without what goes along with every request.
fn brief(script: &Script) -> String {
    let mut params = script.params.clone().unwrap_or_default();
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    let params = if params.is_null() { String::new() } else { params.to_string() };
    let cut = params.char_indices().nth(MAX_PARAMS).map(|(at, _)| format!("{}…", &params[..at]));
    format!("{} {}", script.method, cut.unwrap_or(params)).trim_end().to_owned()
}

/// Compared lines of each value.
const MAX_LINES: usize = 1000;

/// Shown characters of a line.
const MAX_LINE_CHARS: usize = 1000;

/// Equal lines shown around those that differ.
const CONTEXT: usize = 3;

/// A value as indented lines.
fn lines(value: Option<&Value>) -> Vec<String> {
    let text = value.map(|value| format!("{value:#}")).unwrap_or_default();
    text.lines().take(MAX_LINES).map(str::to_owned).collect()
}

/// Returns the number of lines that two values have in common, wherever they are.
fn likeness(a: &[String], b: &[String]) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    a.iter().for_each(|line| *counts.entry(line.trim()).or_default() += 1);
    b.iter().filter(|line| take(&mut counts, line.trim())).count()
}

fn take(counts: &mut HashMap<&str, usize>, line: &str) -> bool {
    let Some(count) = counts.get_mut(line).filter(|count| **count > 0) else { return false };
    *count -= 1;
    true
}

/// The lines that only the recording has (`-`), that only we have (`+`), and some around them.
fn unified(recorded: &[String], made: &[String]) -> String {
    let marked = marked(recorded, made);
    let is_near = |at: usize| {
        let near = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(marked.len());
        marked[near].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::from("--- recorded\n+++ made\n");
    let mut skips = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if is_near(at) {
            let _ = writeln!(text, "{mark}{}", clipped(line));
            skips = false;
        } else if !skips {
            text.push_str(" …\n");
            skips = true;
        }
    }
    text
}

/// All lines of both, each with its mark: the longest common sequence is common.
fn marked<'a>(recorded: &'a [String], made: &'a [String]) -> Vec<(char, &'a str)> {
    let common = common(recorded, made);
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while i < recorded.len() || j < made.len() {
        if i < recorded.len() && j < made.len() && recorded[i] == made[j] {
            all.push((' ', recorded[i].as_str()));
            (i, j) = (i + 1, j + 1);
        } else if j == made.len() || (i < recorded.len() && common[i + 1][j] >= common[i][j + 1]) {
            all.push(('-', recorded[i].as_str()));
            i += 1;
        } else {
            all.push(('+', made[j].as_str()));
            j += 1;
        }
    }
    all
}

/// `common[i][j]`: how many lines the longest common sequence has from `i` and `j` on.
fn common(a: &[String], b: &[String]) -> Vec<Vec<u16>> {
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = match a[i] == b[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    common
}

fn clipped(line: &str) -> String {
    match goose_fs::head_chars(line, MAX_LINE_CHARS) {
        head if head.len() < line.len() => format!("{head}… ({} bytes)", line.len()),
        whole => whole.to_owned(),
    }
}
