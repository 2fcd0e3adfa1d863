//! Why an edit could not be made, in words that let the model make it the next time.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::Write as _,
    hash::{BuildHasher as _, RandomState},
};

use super::{
    MAX_FILE_BYTES,
    matching::{Mismatch, Replacement, line_numbers, plain},
};

/// Shortest `after` whose presence says that a change was made. A few letters occur in any file.
const MIN_AFTER_CHARS: usize = 8;

/// Maximum number of lines shown of a region.
const MAX_SHOWN_LINES: usize = 24;

/// Unchanged lines shown around it.
const AROUND: usize = 1;

/// Characters shown of a line.
const MAX_SHOWN_CHARS: usize = 240;

/// Maximum number of places listed.
const MAX_PLACES: usize = 10;

/// Maximum number of differing lines set side by side.
const MAX_DIFFERENCES: usize = 3;

/// Returns the message for an edit that does not fit.
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
    let may_tell = after.trim().chars().count() >= MIN_AFTER_CHARS;
    if let Some(at) = may_tell.then(|| text.find(after)).flatten() {
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

/// Lists the differences of lines that are otherwise the same.
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
    goose_fs::truncate_chars(line, MAX_SHOWN_CHARS)
}

/// Maximum number of times that a repeated line of the wanted text counts.
const MAX_REPEATED: usize = 8;

/// Characters of a line that are compared.
const MAX_LINE_CHARS: usize = 1_000;

/// Percentage of the words that two similar lines share.
const LIKE_PERCENT: usize = 50;

/// Lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    /// The first of them, counted from 0.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) likeness: Likeness,
}

/// The similarity of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The same but for spaces and typographic signs.
    Loose,
    /// Some lines are the same, or almost.
    Partial,
}

/// The region of `lines` that is most like `wanted`.
pub(super) fn closest(lines: &[&str], wanted: &[&str]) -> Option<Region> {
    let blank = |line: &&&str| line.trim().is_empty();
    let skipped = wanted.iter().take_while(blank).count();
    let wanted = &wanted[skipped..wanted.len() - wanted[skipped..].iter().rev().take_while(blank).count()];
    let whole = |first, likeness| Region { first, count: wanted.len().min(lines.len() - first), likeness };
    match wanted {
        [] => None,
        [line] => within_a_line(lines, line)
            .map(|first| whole(first, Likeness::Loose))
            .or_else(|| by_words(lines, wanted).map(|first| whole(first, Likeness::Partial))),
        _ => {
            let hasher = RandomState::new();
            let hashed =
                |lines: &[&str]| -> Vec<u64> { lines.iter().map(|it| hasher.hash_one(loose(it))).collect() };
            let (known, sought) = (hashed(lines), hashed(wanted));
            let found = known.windows(sought.len()).position(|window| window == sought);
            found
                .map(|first| whole(first, Likeness::Loose))
                .or_else(|| by_votes(&known, &sought, wanted).map(|first| whole(first, Likeness::Partial)))
                .or_else(|| by_words(lines, wanted).map(|first| whole(first, Likeness::Partial)))
        }
    }
}

/// The line that has another in it, loosely.
fn within_a_line(lines: &[&str], wanted: &str) -> Option<usize> {
    let wanted = loose(wanted);
    lines.iter().position(|line| loose(line).contains(&wanted))
}

/// Returns the start of the region on which most lines agree.
fn by_votes(known: &[u64], sought: &[u64], wanted: &[&str]) -> Option<usize> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, hash) in sought.iter().enumerate() {
        let is_telling = wanted[at].chars().filter(|it| it.is_alphanumeric()).nth(1).is_some();
        let known_places = places.entry(*hash).or_default();
        if is_telling && known_places.len() < MAX_REPEATED {
            known_places.push(at);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, hash) in known.iter().enumerate() {
        for before in places.get(hash).into_iter().flatten().filter(|before| **before <= at) {
            *votes.entry(at - before).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|&(first, count)| (count, std::cmp::Reverse(first))).map(|(first, _)| first)
}

/// Returns the start of the region whose words are most like those of the longest line.
fn by_words(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (at, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let sought = words(longest);
    let share = |line: &str| sought.intersection(&words(line)).count() * 100 / sought.len().max(1);
    let shares = lines.iter().enumerate().map(|(line, text)| (share(text), std::cmp::Reverse(line)));
    let (best, std::cmp::Reverse(line)) = shares.max()?;
    (best >= LIKE_PERCENT && !sought.is_empty()).then(|| line.saturating_sub(at))
}

fn words(line: &str) -> HashSet<&str> {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    line.split(|it| !is_part(it)).filter(|word| !word.is_empty()).take(MAX_LINE_CHARS).collect()
}

/// A line without what is easily mistaken: spaces, quotation marks, dashes.
pub(super) fn loose(line: &str) -> String {
    let line: String = line.chars().take(MAX_LINE_CHARS).map(typed).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sign as it is typed on a keyboard.
pub(super) fn typed(sign: char) -> char {
    match sign {
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{202f}' | '\u{2007}' => ' ',
        sign => sign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: [&str; 8] =
        ["fn one() {", "    let a = 1;", "}", "", "fn two() {", "\tlet b = \u{201c}x\u{201d};", "    b", "}"];

    fn find(wanted: &[&str]) -> Option<(usize, usize, Likeness)> {
        closest(&TEXT, wanted).map(|region| (region.first, region.count, region.likeness))
    }

    #[test]
    fn spaces_and_quotation_marks_are_easily_mistaken() {
        assert_eq!(find(&["fn two() {", "    let b = \"x\";"]), Some((4, 2, Likeness::Loose)));
        assert_eq!(find(&["", "let a =  1;", ""]), Some((1, 1, Likeness::Loose)));
        assert_eq!(find(&["= 1"]), Some((1, 1, Likeness::Loose)));
    }

    #[test]
    fn what_is_like_it_in_part_is_found() {
        assert_eq!(find(&["fn two() {", "    let b = 7;", "    b", "}"]), Some((4, 4, Likeness::Partial)));
        assert_eq!(find(&["let a = 2;"]), Some((1, 1, Likeness::Partial)));
        assert_eq!(find(&["fn two() {", "all", "the", "rest", "is", "new"]), Some((4, 4, Likeness::Partial)));
        assert_eq!(find(&["nothing like that"]), None);
        assert_eq!(find(&["", " "]), None);
        assert_eq!(closest(&[], &["a"]), None);
    }
}
