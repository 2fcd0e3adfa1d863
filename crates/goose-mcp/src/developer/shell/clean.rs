//! Text that a program wrote for a terminal, as a model should read it.
//!
//! Escape sequences and control characters go, a line that was overwritten (`\r`, progress bars) shows what was
//! there last, and bytes that are no text become `�`.

use std::iter::Peekable;

/// Maximum length of an escape sequence; a longer one is text.
const MAX_SEQUENCE_CHARS: usize = 4096;

/// One of how many characters may be no text before it is said that all of it is none.
const BINARY_SHARE: usize = 4;

const ESCAPE: char = '\x1b';
const BELL: char = '\x07';

/// The text, or `None` for what is not text.
pub(super) fn clean(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let strange = text.chars().filter(|&it| it == char::REPLACEMENT_CHARACTER || it == '\0').count();
    if strange * BINARY_SHARE > text.len().min(bytes.len()) {
        return None;
    }
    Some(clean_text(&text))
}

/// The text without what only a terminal understands.
pub(super) fn clean_text(text: &str) -> String {
    let is_plain = |byte: u8| byte >= b' ' && byte != 0x7f || byte == b'\n' || byte == b'\t';
    if text.bytes().all(is_plain) && !text.contains(is_second_control) {
        return text.to_owned();
    }
    let mut screen = Screen::default();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            ESCAPE => skip_sequence(&mut rest),
            '\u{9b}' => skip_parameters(&mut rest),
            '\r' => screen.is_returned = true,
            '\n' | '\t' => screen.put(letter),
            '\x08' => screen.back(),
            control if control.is_control() => {}
            letter => screen.put(letter),
        }
    }
    screen.text
}

/// The control characters beyond ASCII.
fn is_second_control(letter: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&letter)
}

/// The screen of a terminal, line by line.
#[derive(Default)]
struct Screen {
    text: String,
    /// Start of the current line.
    line: usize,
    /// True if the next letter overwrites the line.
    is_returned: bool,
}

impl Screen {
    fn put(&mut self, letter: char) {
        if std::mem::take(&mut self.is_returned) && letter != '\n' {
            self.text.truncate(self.line);
        }
        self.text.push(letter);
        if letter == '\n' {
            self.line = self.text.len();
        }
    }

    fn back(&mut self) {
        if self.text.len() > self.line {
            self.text.pop();
        }
    }
}

/// Skips what follows an escape: a sequence with parameters, a text for the terminal, or one letter.
fn skip_sequence(rest: &mut Peekable<impl Iterator<Item = char>>) {
    match rest.next_if(|it| !it.is_control()) {
        Some('[') => skip_parameters(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_text(rest),
        // One or two intermediate letters choose a set of characters.
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(rest.next_if(|it| !it.is_control())),
        _ => {}
    }
}

/// Skips `1;31m`: everything up to a final letter. A control character, which cannot be part of it, ends it.
fn skip_parameters(rest: &mut Peekable<impl Iterator<Item = char>>) {
    for _ in 0..MAX_SEQUENCE_CHARS {
        match rest.next_if(|it| matches!(it, ' '..='~')) {
            Some('@'..='~') | None => return,
            Some(_) => {}
        }
    }
}

/// Skips a text for the terminal (a title, a link): up to a bell or `ESC \`. A new line ends it, too: a sequence that
/// was cut off must not swallow the rest of the output.
fn skip_text(rest: &mut Peekable<impl Iterator<Item = char>>) {
    for _ in 0..MAX_SEQUENCE_CHARS {
        match rest.next_if(|&it| it != '\n') {
            None | Some(BELL | '\u{9c}') => return,
            Some(ESCAPE) => {
                rest.next_if_eq(&'\\');
                return;
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_only_a_terminal_understands_goes() {
        let table = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07shown", "shown"),
            ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Bset\x1b=mode\x1b[?25l", "setmode"),
            ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
            ("last\r", "last"),
            ("ab\x08c\x08\x08\x08\x08d", "d"),
            ("nul\0bell\x07del\x7f", "nulbelldel"),
            ("\u{9b}31mc1\u{85}", "c1"),
            ("\x1b]never ended\nnext", "\nnext"),
            ("\x1b[31\nnext", "\nnext"),
            ("end\x1b", "end"),
            ("größer € 🦀", "größer € 🦀"),
        ];
        for (raw, expected) in table {
            assert_eq!(clean_text(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_not_shown_as_text() {
        assert_eq!(clean(b"a\xffbcdefgh").as_deref(), Some("a\u{FFFD}bcdefgh"));
        assert_eq!(clean(&[0_u8; 100]), None);
        assert_eq!(clean(&[0xff_u8, 0xd8, 0xff, 0xe0, b'J', b'F']), None);
        assert_eq!(clean(b"").as_deref(), Some(""));
    }

    proptest! {
        #[test]
        fn nothing_but_text_is_left(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Some(text) = clean(&bytes) {
                prop_assert!(!text.chars().any(|it| it.is_control() && it != '\n' && it != '\t'), "{text:?}");
            }
        }

        #[test]
        fn plain_text_stays_as_it_is(text in "[^\\p{Cc}]{0,40}\n\t[^\\p{Cc}]{0,40}") {
            prop_assert_eq!(clean_text(&text), text);
        }
    }
}
