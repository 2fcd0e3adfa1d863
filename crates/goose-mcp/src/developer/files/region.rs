//! The region of a text that is most like one that is not there.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, RandomState},
};

/// How many times one line of the wanted text counts, where it stands there often.
const MAX_REPEATED: usize = 8;

/// How much of a line is looked at.
const MAX_LINE_CHARS: usize = 1_000;

/// How many percent of the words of a line have to be there for it to be like another.
const LIKE_PERCENT: usize = 50;

/// Lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    /// The first of them, counted from 0.
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) likeness: Likeness,
}

/// How like a region is.
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

/// Where the region begins on which most lines agree.
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

/// Where the region begins whose words are most like those of the longest line.
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
