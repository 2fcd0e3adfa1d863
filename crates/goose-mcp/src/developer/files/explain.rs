//! Why an edit could not be made, in words that let the model make it the next time.

use std::{borrow::Cow, fmt::Write as _};

use super::{
    MAX_FILE_BYTES,
    line_ends::plain,
    matching::{Mismatch, Replacement, line_numbers},
    region::{Likeness, Region, closest, typed},
};

/// How many lines of a region are shown.
const MAX_SHOWN_LINES: usize = 24;

/// How many unchanged lines are shown around it.
const AROUND: usize = 1;

/// How much of a line is shown.
const MAX_LINE_CHARS: usize = 240;

/// How many places are listed.
const MAX_PLACES: usize = 10;

/// How many lines that differ are set side by side.
const MAX_DIFFERENCES: usize = 3;

/// What to say about an edit that does not fit.
pub(super) fn explain(mismatch: &Mismatch, replacement: &Replacement<'_>, text: &str) -> String {
    let text = plain(text);
    match mismatch {
        Mismatch::Empty => {
            "`before` is empty. To add text, give a line that is there as `before`, and the same line \
                            with the new text as `after`; to make a file, use `write`."
                .to_owned()
        }
        Mismatch::Same => "`before` and `after` are the same, so there is nothing to change.".to_owned(),
        Mismatch::TooLarge => format!(
            "it would become larger than {MAX_FILE_BYTES} bytes. Replace less at once, or use a program in the shell."
        ),
        Mismatch::Several(lines) => several(&text, lines),
        Mismatch::Missing => missing(&text, &plain(replacement.before), &plain(replacement.after)),
    }
}

fn several(text: &str, lines: &[usize]) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut message = format!(
        "`before` is there {} times. Give more lines around the one you mean, or set `replace_all`. It is in:",
        lines.len()
    );
    for line in lines.iter().take(MAX_PLACES) {
        show_line(&mut message, &all, line - 1);
    }
    if lines.len() > MAX_PLACES {
        let _ = write!(message, "\n… and {} more", lines.len() - MAX_PLACES);
    }
    message
}

fn missing(text: &str, before: &str, after: &str) -> String {
    if let Some(at) = (!after.trim().is_empty()).then(|| text.find(after)).flatten() {
        let line = line_numbers(text, &[at]);
        return format!(
            "`before` is not in the file, but `after` is already there, in line {}: the change seems to be made.",
            line.first().copied().unwrap_or(1)
        );
    }
    if without_numbers(before).is_some_and(|before| text.contains(&before)) {
        return "`before` has line numbers in it, which the file has not. Leave them out.".to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = before.lines().collect();
    let mut message = "`before` is not in the file.".to_owned();
    match closest(&lines, &wanted) {
        Some(region) => describe(&mut message, &lines, &wanted, region),
        None if text.is_empty() => message.push_str(" The file is empty."),
        None => message.push_str(" Nothing in it is like it; read the file first."),
    }
    message.push_str("\nCopy `before` exactly as it is there, or write the whole file with `write`.");
    message
}

fn describe(message: &mut String, lines: &[&str], wanted: &[&str], region: Region) {
    let wanted: Vec<&str> = wanted.iter().copied().skip_while(|line| line.trim().is_empty()).collect();
    let found = &lines[region.first..region.first + region.count];
    message.push_str(" The closest there is:");
    let start = region.first.saturating_sub(AROUND);
    let end = (region.first + region.count + AROUND).min(lines.len());
    for at in (start..end).take(MAX_SHOWN_LINES) {
        show_line(message, lines, at);
    }
    let differences = match region.likeness {
        Likeness::Loose => mistaken(found, &wanted),
        Likeness::Partial => side_by_side(found, &wanted, region.first),
    };
    for difference in differences {
        let _ = write!(message, "\n{difference}");
    }
}

/// What was mistaken in lines that are the same otherwise.
fn mistaken(found: &[&str], wanted: &[&str]) -> Vec<String> {
    let pairs = || found.iter().zip(wanted);
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let mut differences = Vec::new();
    if let Some((here, given)) = pairs().find(|(here, given)| indent(here) != indent(given)) {
        let kind = |line: &str| if indent(line).contains('\t') { "tabs" } else { "spaces" };
        differences.push(if found.len() > 1 && kind(here) != kind(given) {
            format!("The file indents with {}, `before` with {}.", kind(here), kind(given))
        } else {
            "The indentation differs.".to_owned()
        });
    }
    if pairs().any(|(here, given)| here.trim_end() != *here && given.trim_end() == *given) {
        differences.push("The file has spaces at the end of a line.".to_owned());
    }
    if pairs().any(|(here, given)| here.contains(is_special) != given.contains(is_special)) {
        differences.push(
            "Quotation marks, dashes or spaces are typographic in one and plain in the other.".to_owned(),
        );
    }
    if differences.is_empty() {
        differences.push("Only the spaces differ.".to_owned());
    }
    differences
}

fn is_special(sign: char) -> bool {
    typed(sign) != sign
}

/// The lines that differ, as they are there and as they were given.
fn side_by_side(found: &[&str], wanted: &[&str], first: usize) -> Vec<String> {
    let differ = found.iter().zip(wanted).enumerate().filter(|(_, (here, given))| here != given);
    differ
        .take(MAX_DIFFERENCES)
        .map(|(at, (here, given))| {
            format!(
                "Line {} is `{}`, `before` has `{}`.",
                first + at + 1,
                cut(here.trim()),
                cut(given.trim())
            )
        })
        .collect()
}

/// A text without the numbers that `read` and `search` put before lines, where all lines have them.
fn without_numbers(text: &str) -> Option<String> {
    let strip = |line: &str| {
        let (number, rest) = line.split_once(['\t', ':', '-'])?;
        number.trim().parse::<usize>().ok().map(|_| rest.to_owned())
    };
    let lines: Option<Vec<String>> = text.lines().map(strip).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

fn show_line(message: &mut String, lines: &[&str], at: usize) {
    let line = lines.get(at).copied().unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(message, "\n{}\t{}", at + 1, cut(line));
}

fn cut(line: &str) -> Cow<'_, str> {
    goose_fs::truncate_chars(line, MAX_LINE_CHARS)
}
