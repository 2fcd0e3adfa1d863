//! Text from files inside of our own sentences: it is marked as a quotation, and cannot end it or look like ours.

use std::fmt::Write as _;

/// How much of a name is shown.
const MAX_NAME_CHARS: usize = 60;

/// How many of the same kind of trouble are told.
const MAX_TOLD: usize = 3;

/// A name as a JSON string: what cannot be seen, what changes the direction of the text, and backticks are
/// escaped, and a long name is cut off.
pub(super) fn name(name: &str) -> String {
    let mut quoted = String::from("\"");
    let mut chars = name.chars();
    for char in chars.by_ref().take(MAX_NAME_CHARS) {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            _ if is_plain(char) => quoted.push(char),
            _ => char.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(quoted, "\\u{unit:04x}");
            }),
        }
    }
    quoted.push('"');
    if chars.next().is_some() {
        quoted.push('…');
    }
    quoted
}

/// Whether a character shows as itself. After a letter, because some are meant to stand on one.
fn is_plain(char: char) -> bool {
    char != '`' && (matches!(char, '\'') || String::from_iter(['a', char]).escape_debug().count() == 2)
}

/// The first few sentences, and how many there are besides.
pub(super) fn few(sentences: &[String]) -> String {
    let mut told = sentences[..sentences.len().min(MAX_TOLD)].join(" ");
    if sentences.len() > MAX_TOLD {
        let _ = write!(told, " And {} more like these.", sentences.len() - MAX_TOLD);
    }
    told
}
