//! Screens for snapshots: everything is replaced that differs between runs and machines.
//!
//! Ids and times are replaced by text of their length, so that columns stay aligned. A path cannot be: where a command
//! wraps lines with a path in them, use [`Home::with_short_path`].

use fancy_regex::Regex;
use goose_test_support::Terminal;

use crate::support::Home;

/// Patterns and their replacements.
const RULES: [(&str, &str); 9] = [
    (r"-\d{13}\.txt\b", "-TTTTTTTTTTTTT.txt"),
    (r"\b\d{8}_(\d+)\b", "YYYYMMDD_$1"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "YYYY-MM-DD HH:MM"),
    (r"\b127\.0\.0\.1:\d+\b", "ADDRESS"),
    (r"\b\d+ MB free\b", "N MB free"),
    // The system prompt counts too: each change of it would change most screens.
    (r"\d\.\dk of 8\.1k tokens(\s+)\(\d\d %\)", "N.Nk of 8.1k tokens$1(NN %)"),
    (r"messages: \d\d\.\dk → \d\d\.\dk tokens", "messages: NN.Nk → NN.Nk tokens"),
    (r" +\d+(?:\.\d+)?k?((?:␛\[[\d;]*m)*) +\d+ %", "  N$1  N %"),
    (concat!(r"\b", env!("CARGO_PKG_VERSION"), r"\b"), "VERSION"),
];

/// The screen as it is now.
pub(crate) fn screen(terminal: &Terminal, home: &Home) -> anyhow::Result<String> {
    text(&terminal.screen(), home)
}

/// The same with colours and styles, whose escape characters can be read.
pub(crate) fn styled_screen(terminal: &Terminal, home: &Home) -> anyhow::Result<String> {
    let text = text(&terminal.styled_screen().replace('\u{1b}', "␛").replace('\r', ""), home)?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines.join("\n"))
}

/// A text in which what differs is replaced.
pub(crate) fn text(text: &str, home: &Home) -> anyhow::Result<String> {
    let mut text = text.replace(&home.path().display().to_string(), "HOME");
    for (pattern, replacement) in RULES {
        text = Regex::new(pattern)?.replace_all(&text, replacement).into_owned();
    }
    Ok(text)
}
