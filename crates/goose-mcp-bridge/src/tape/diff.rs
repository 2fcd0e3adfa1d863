//! Two JSON values as lines that differ.

use std::{collections::HashMap, fmt::Write as _};

use serde_json::Value;

/// How many lines of each value are compared.
const MAX_LINES: usize = 1000;

/// How many characters of a line are shown.
const MAX_LINE_CHARS: usize = 1000;

/// How many equal lines are shown around those that differ.
const CONTEXT: usize = 3;

/// A value as indented lines.
pub(super) fn lines(value: Option<&Value>) -> Vec<String> {
    let text = value.map(|value| format!("{value:#}")).unwrap_or_default();
    text.lines().take(MAX_LINES).map(str::to_owned).collect()
}

/// How many lines two values have in common, wherever they stand.
pub(super) fn likeness(a: &[String], b: &[String]) -> usize {
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
pub(super) fn unified(recorded: &[String], made: &[String]) -> String {
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
