//! A word that an edit replaces by another: where the session's files still have it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use goose_extension::{Backend, FileRead, FileTarget, HardLinks};

use super::encoding::Encoding;

/// Characters of the shortest word that is looked for.
const MIN_CHARS: usize = 3;

/// Maximum number of files that are looked at, their size, and maximum number of places that are named.
const MAX_FILES: usize = 50;
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_PLACES: usize = 10;

/// The old word, if this is all that a replacement changes.
pub(super) fn renamed<'a>(before: &'a str, after: &str) -> Option<&'a str> {
    let (old, new): (Vec<&str>, Vec<&str>) = (words(before).collect(), words(after).collect());
    let mut changed = old.iter().zip(&new).filter(|(old, new)| old != new);
    let first = changed.next().filter(|_| old.len() == new.len())?;
    let is_name =
        first.0.chars().count() >= MIN_CHARS && !first.0.starts_with(|sign: char| sign.is_ascii_digit());
    (is_name && changed.all(|other| other == first)).then_some(*first.0)
}

/// The sentence for the model about the places where a word still is. Files that cannot be read have none.
pub(super) fn still_in(
    backend: &dyn Backend,
    word: &str,
    files: &BTreeSet<PathBuf>,
    folder: &Path,
) -> Option<String> {
    let places = files.iter().take(MAX_FILES).flat_map(|path| {
        let target = FileTarget { path: path.clone(), hard_links: HardLinks::Refused };
        let text = match backend.read(&target, MAX_FILE_BYTES) {
            Ok(FileRead::Content { bytes, .. }) => Encoding::decode(bytes).map(|(text, _)| text),
            _ => None,
        };
        let has_word = |line: &&str| words(line).any(|other| other == word);
        let text = text.unwrap_or_default();
        let numbers = text.lines().zip(1..).filter(|(line, _)| has_word(line)).map(|(_, number)| number);
        let shown = path.strip_prefix(folder).unwrap_or(path).display();
        numbers.map(|number: usize| format!("{shown}:{number}")).collect::<Vec<_>>()
    });
    let mut places: Vec<String> = places.take(MAX_PLACES + 1).collect();
    if places.len() > MAX_PLACES {
        places[MAX_PLACES] = "…".to_owned();
    }
    (!places.is_empty()).then(|| format!("`{word}` is still in {}", places.join(", ")))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn a_word_is_renamed_if_nothing_else_changes() {
        assert_eq!(renamed("let a = calc(calc(x));", "let a = total(total(x));"), Some("calc"));
        assert_eq!(renamed("<h1>Größe</h1>", "<h1>Länge</h1>"), Some("Größe"));
        for (before, after) in [
            ("calc(x)", "total(y)"),
            ("calc(x)", "calc(x, 1)"),
            ("calc(x)", "calc( x )"),
            ("port = 8001", "port = 8002"),
            ("a = b", "c = b"),
            ("one", ""),
        ] {
            assert_eq!(renamed(before, after), None, "{before} → {after}");
        }
    }
}
