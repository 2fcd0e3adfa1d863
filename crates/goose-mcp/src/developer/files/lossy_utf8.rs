//! UTF-8 with bytes in it that are none: each gets a character that stands for it, so that the rest is text, and nothing is
//! lost on the way back.

use std::borrow::Cow;

/// The characters that stand for the bytes 0 to 255, of those that mean nothing to anybody.
const FIRST: u32 = 0x0010_F700;

/// Whether bytes that are not all UTF-8 are meant to be: more of what is not ASCII is right than wrong. In other encodings
/// hardly any of it is.
pub(super) fn is_likely(bytes: &[u8]) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        right += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        wrong += chunk.invalid().len();
    }
    right >= wrong
}

/// The text; `None` where a character that is to stand for a byte is there already.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().contains(is_stand_in) {
            return None;
        }
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    }
    Some(text)
}

/// The bytes again.
pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// Whether a character stands for a byte.
pub(super) fn is_stand_in(letter: char) -> bool {
    byte(letter).is_some()
}

/// The text as it is shown.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(is_stand_in) {
        Cow::Owned(text.replace(is_stand_in, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn byte(letter: char) -> Option<u8> {
    u32::from(letter).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok())
}
