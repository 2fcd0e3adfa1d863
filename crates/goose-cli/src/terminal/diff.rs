//! Coloured display of file changes.

use anstyle::{AnsiColor, Style};

use crate::{
    escape,
    output::{BAD, FAINT, GOOD, NAME},
};

/// Maximum number of lines of a change that was made.
pub(crate) const MAX_LINES: usize = 200;

const PLACE: Style = AnsiColor::Cyan.on_default();

/// Formats a unified diff, up to some lines.
pub(crate) fn lines(path: &str, unified: &str, limit: usize) -> Vec<String> {
    let body: Vec<&str> = unified.lines().skip_while(|line| is_file_name(line)).collect();
    let (added, removed) = (count(&body, '+'), count(&body, '-'));
    let path = escape::line(path);
    let mut lines = vec![format!("  {NAME}{path}{NAME:#} {GOOD}+{added}{GOOD:#} {BAD}-{removed}{BAD:#}")];
    lines.extend(body.iter().take(limit).map(|line| painted(line)));
    if let Some(left @ 1..) = body.len().checked_sub(limit) {
        lines.push(format!("  {FAINT}… {left} more lines{FAINT:#}"));
    }
    lines
}

fn count(lines: &[&str], mark: char) -> usize {
    lines.iter().filter(|line| line.starts_with(mark)).count()
}

/// Returns true for the header lines with file names. After the first hunk, such lines are changes.
fn is_file_name(line: &str) -> bool {
    line.starts_with("--- ") || line.starts_with("+++ ")
}

fn painted(line: &str) -> String {
    let style = match line.chars().next() {
        Some('+') => GOOD,
        Some('-') => BAD,
        Some('@') => PLACE,
        _ => FAINT,
    };
    let line = escape::text(line).replace('\t', "    ");
    format!("  {style}{line}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_size() {
        let unified =
            "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-\told();\n+\tnew();\u{1b}[2J\n";
        let shown = anstream::adapter::strip_str(&lines("x.rs", unified, MAX_LINES).join("\n")).to_string();
        assert_eq!(
            shown,
            "  x.rs +1 -1\n  @@ -1,2 +1,2 @@\n   fn main() {\n  -    old();\n  +    new();\\u{1b}[2J"
        );
    }

    /// Comments of SQL and Lua, and rules of Markdown, look like names of files.
    #[test]
    fn a_change_that_looks_like_a_file_name_is_shown() {
        let unified = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n select 1;\n--- old comment\n+++ new\n";
        let shown = anstream::adapter::strip_str(&lines("q.sql", unified, MAX_LINES).join("\n")).to_string();
        assert_eq!(shown, "  q.sql +1 -1\n  @@ -1,2 +1,2 @@\n   select 1;\n  --- old comment\n  +++ new");
    }

    #[test]
    fn a_large_change_is_cut_and_says_so() {
        let shown = lines("x", &"+line\n".repeat(1_000), MAX_LINES);
        assert_eq!(shown.len(), MAX_LINES + 2);
        assert!(shown[0].contains("+1000"), "{}", shown[0]);
        assert!(shown[MAX_LINES + 1].contains("800 more lines"), "{}", shown[MAX_LINES + 1]);
    }
}
