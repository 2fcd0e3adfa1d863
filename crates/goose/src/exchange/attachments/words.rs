//! The words of a message that may name files: `@path`, and paths of images.
//!
//! A path may be quoted, or have its blanks escaped by `\`, as terminals insert the names of files that are dropped
//! on them. Whether there is such a file is not known here.

use url::Url;

/// Character before the name of a file, an agent or a resource.
pub(super) const MARK: char = '@';

/// Characters that may follow a path in a sentence.
const PUNCTUATION: [char; 11] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'];

/// Extensions of images that model services accept.
const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Maximum number of words that are looked up.
const MAX_WORDS: usize = 1_000;

/// A word that may name a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The text without its mark, quotes and escapes.
    pub(super) text: String,
    /// True after `@`, false for the path of an image.
    pub(super) is_marked: bool,
}

impl Word {
    /// Returns the paths that the word may stand for: as it is, then without the punctuation at its end.
    pub(super) fn spellings(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.text.as_str()), |text| text.strip_suffix(PUNCTUATION)).filter(
            |text| {
                // `@.` and `@/` are not meant as folders.
                !text.trim_matches(['.', '/']).is_empty() || matches!(*text, "./" | "../")
            },
        )
    }

    /// Returns the text without the punctuation at its end.
    pub(super) fn without_punctuation(&self) -> &str {
        self.text.trim_end_matches(PUNCTUATION)
    }

    /// Returns true if a path is certainly meant, whether it exists or not. `@/components` is common in code.
    pub(super) fn is_clearly_path(&self) -> bool {
        self.is_marked && ["./", "../", "~/"].iter().any(|start| self.text.starts_with(start))
    }
}

/// Returns the words of a text that may name files.
pub(super) fn words(text: &str) -> Vec<Word> {
    let (mut words, mut rest, mut is_start) = (Vec::new(), text, true);
    while let Some(first) = rest.chars().next().filter(|_| words.len() < MAX_WORDS) {
        let after = &rest[first.len_utf8()..];
        if !is_start || first.is_whitespace() {
            is_start = first.is_whitespace();
            rest = after;
            continue;
        }
        if matches!(first, '(' | '[') {
            rest = after;
            continue;
        }
        let (begin, is_marked) = if first == MARK { (after, true) } else { (rest, false) };
        let (path, end) = path(begin);
        if is_marked || is_image_path(&path) {
            words.push(Word { text: path, is_marked });
            rest = end;
        } else {
            is_start = matches!(first, '"' | '\'');
            rest = after;
        }
    }
    words
}

/// Reads a path at the beginning of a text. Returns it without quotes and escapes, and the text after it.
fn path(text: &str) -> (String, &str) {
    if let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\''))
        && let Some((inside, rest)) = text[1..].split_once(quote)
        && !inside.is_empty()
        && !inside.contains('\n')
    {
        return (inside.to_owned(), rest);
    }
    let mut path = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => path.extend(letters.next().map(|(_, escaped)| escaped)),
            letter if letter.is_whitespace() => return (decoded(path), &text[at..]),
            letter => path.push(letter),
        }
    }
    (decoded(path), "")
}

/// Returns the path of a `file:` address, and any other text as it is.
fn decoded(path: String) -> String {
    let file = |url: &str| Url::parse(url).ok()?.to_file_path().ok()?.into_os_string().into_string().ok();
    if path.starts_with("file://") { file(&path).unwrap_or(path) } else { path }
}

/// Returns true for the path of an image with a folder in it. A bare name, as in "make logo.png smaller", is often not
/// meant to be looked at.
fn is_image_path(path: &str) -> bool {
    let path = path.trim_end_matches(PUNCTUATION);
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    path.contains('/')
        && !path.contains("://")
        && extension.is_some_and(|extension| IMAGES.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let shown = |word: Word| if word.is_marked { format!("@{}", word.text) } else { word.text };
        words(text).into_iter().map(shown).collect()
    }

    #[test]
    fn paths_are_words_with_a_mark_or_of_images() {
        for (text, expected) in [
            ("explain @src/main.rs, please", vec!["@src/main.rs,"]),
            ("@a.rs\n@b/ (@c.rs) '@d.rs'", vec!["@a.rs", "@b/", "@c.rs)", "@d.rs'"]),
            ("@\"my file.txt\" and @my\\ file.txt", vec!["@my file.txt", "@my file.txt"]),
            ("look (./shot.png) and /tmp/b.JPG.", vec!["./shot.png)", "/tmp/b.JPG."]),
            ("'/tmp/my shot.png' /tmp/my\\ shot.png", vec!["/tmp/my shot.png", "/tmp/my shot.png"]),
            ("file:///tmp/my%20shot.png", vec!["/tmp/my shot.png"]),
            ("ada@example.com a@b.rs logo.png https://a.b/c.png", vec![]),
            ("\\@README.md", vec![]),
            ("it's a 'quoted word'", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn punctuation_is_left_out_step_by_step() {
        let word = |text: &str| Word { text: text.to_owned(), is_marked: true };
        assert_eq!(
            word("a.rs).").spellings().collect::<Vec<_>>(),
            ["a.rs).", "a.rs)", "a.rs"],
            "the longest comes first"
        );
        for nothing in ["", ".", "..", "/", "..."] {
            assert_eq!(word(nothing).spellings().count(), 0, "{nothing}");
        }
        assert_eq!(word("./").spellings().collect::<Vec<_>>(), ["./"]);
        assert!(word("~/a").is_clearly_path() && !word("/components").is_clearly_path());
    }
}
