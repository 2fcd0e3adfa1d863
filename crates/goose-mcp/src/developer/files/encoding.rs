//! [`Encoding`]: how a file's text is written down, and back without a loss.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";

/// One of how many bytes may be a control character in text that is not Unicode.
const CONTROL_SHARE: usize = 100;

/// The encoding of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf8WithBom,
    Utf16Le,
    Utf16Be,
    /// With bytes that are none, which stay as they are.
    DamagedUtf8,
    /// Not Unicode: each byte is one character of Western Europe, so nothing is lost on the way back.
    Windows1252,
}

impl Encoding {
    /// The name, for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8WithBom => "UTF-8 with a byte order mark",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::DamagedUtf8 => "UTF-8 with damaged bytes, shown as \u{FFFD}",
            Self::Windows1252 => "Windows-1252",
        }
    }

    /// The text in a file, and how it is written down; `None` for what is no text.
    pub(super) fn decode(bytes: Vec<u8>) -> Option<(String, Self)> {
        if let Some(rest) = bytes.strip_prefix(UTF8_BOM) {
            return match str::from_utf8(rest) {
                Ok(text) => Some((text.to_owned(), Self::Utf8WithBom)),
                Err(_) => not_unicode(&bytes),
            };
        }
        if let Some(rest) = bytes.strip_prefix(UTF16_LE_BOM) {
            return Some((utf16(rest, u16::from_le_bytes)?, Self::Utf16Le));
        }
        if let Some(rest) = bytes.strip_prefix(UTF16_BE_BOM) {
            return Some((utf16(rest, u16::from_be_bytes)?, Self::Utf16Be));
        }
        if bytes.contains(&0) {
            return None;
        }
        match String::from_utf8(bytes) {
            Ok(text) => Some((text, Self::Utf8)),
            Err(error) => not_unicode(error.as_bytes()),
        }
    }

    /// The text as it is shown: what stands for a damaged byte is the sign for it.
    pub(super) fn shown(self, text: &str) -> Cow<'_, str> {
        if self == Self::DamagedUtf8 && text.contains(is_stand_in) {
            Cow::Owned(text.replace(is_stand_in, "\u{FFFD}"))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Returns whether a new text may have a character. One that would become a damaged byte may not come from outside.
    pub(super) fn takes(self, letter: char) -> bool {
        self != Self::DamagedUtf8 || !is_stand_in(letter)
    }

    /// The bytes of a text.
    ///
    /// # Errors
    ///
    /// The first character that this encoding does not have.
    pub(super) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.into()),
            Self::Utf8WithBom => Ok([UTF8_BOM, text.as_bytes()].concat()),
            Self::Utf16Le => Ok(to_utf16(UTF16_LE_BOM, text, u16::to_le_bytes)),
            Self::Utf16Be => Ok(to_utf16(UTF16_BE_BOM, text, u16::to_be_bytes)),
            Self::DamagedUtf8 => Ok(encode_damaged(text)),
            Self::Windows1252 => match WINDOWS_1252.encode(text) {
                (bytes, _, false) => Ok(Cow::into_owned(bytes)),
                _ => Err(text.chars().find(|it| !has_letter(*it)).unwrap_or(char::REPLACEMENT_CHARACTER)),
            },
        }
    }
}

/// Text that is not all Unicode: meant to be UTF-8, or of Western Europe.
fn not_unicode(bytes: &[u8]) -> Option<(String, Encoding)> {
    let is_text = bytes.iter().filter(|it| is_odd(**it)).count() * CONTROL_SHARE <= bytes.len();
    if !is_text || bytes.contains(&0) {
        return None;
    }
    if is_likely_utf8(bytes) {
        return decode_damaged(bytes).map(|text| (text, Encoding::DamagedUtf8));
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    Some((text.into_owned(), Encoding::Windows1252))
}

/// Returns whether Windows-1252 has a letter.
fn has_letter(letter: char) -> bool {
    let (_, _, is_missing) = WINDOWS_1252.encode(letter.encode_utf8(&mut [0; 4]));
    !is_missing
}

fn is_odd(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

fn utf16(bytes: &[u8], join: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, []) = bytes.as_chunks() else { return None };
    let text: String = char::decode_utf16(pairs.iter().copied().map(join)).collect::<Result<_, _>>().ok()?;
    // With every other character missing it is UTF-32, or no text.
    (!text.contains('\0')).then_some(text)
}

fn to_utf16(mark: &[u8], text: &str, split: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(split)).collect()
}

/// The characters that stand for the bytes 0 to 255, from the private use area.
const FIRST: u32 = 0x0010_F700;

/// Returns whether bytes that are not all UTF-8 are meant to be: more of what is not ASCII is right than wrong. In other encodings
/// hardly any of it is.
fn is_likely_utf8(bytes: &[u8]) -> bool {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        right += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        wrong += chunk.invalid().len();
    }
    right >= wrong
}

/// The text; `None` if a character that is to stand for a byte is there already.
fn decode_damaged(bytes: &[u8]) -> Option<String> {
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
fn encode_damaged(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// Returns whether a character stands for a byte.
fn is_stand_in(letter: char) -> bool {
    byte(letter).is_some()
}

fn byte(letter: char) -> Option<u8> {
    u32::from(letter).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 5] =
        [Encoding::Utf8, Encoding::Utf8WithBom, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Windows1252];

    #[test]
    fn what_is_no_text_is_seen() {
        let table: [&[u8]; 6] = [
            b"a\0b",
            b"\xFF\xFEa",
            b"\xFF\xFE\x00\xD8a\0",
            b"\xFF\xFE\0\0a\0\0\0",
            b"\x80\x01\x02\x03",
            "a stand-in \u{10F7FF} and a damaged byte: \u{e9}"
                .as_bytes()
                .split_last()
                .map_or(b"", |(_, it)| it),
        ];
        for bytes in table {
            assert_eq!(Encoding::decode(bytes.to_vec()), None, "{bytes:?}");
        }
    }

    #[test]
    fn letters_that_an_encoding_does_not_have_are_named() {
        assert_eq!(
            Encoding::Windows1252.encode("gr\u{f6}\u{df}e \u{20ac}"),
            Ok(b"gr\xF6\xDFe \x80".to_vec())
        );
        assert_eq!(Encoding::Windows1252.encode("a → b"), Err('→'));
    }

    #[test]
    fn what_is_almost_utf8_is_no_other_encoding() {
        let table: [(&[u8], &str, Encoding); 5] = [
            (b"gr\xC3\xBC\xC3\x9Fe \xFF!", "gr\u{fc}\u{df}e \u{FFFD}!", Encoding::DamagedUtf8),
            (b"\xC3\xA9 cut \xE2\x82", "\u{e9} cut \u{FFFD}\u{FFFD}", Encoding::Windows1252),
            (b"\xC3\xA9\xC3\xA9 cut \xE2\x82", "\u{e9}\u{e9} cut \u{FFFD}\u{FFFD}", Encoding::DamagedUtf8),
            (b"\xEF\xBB\xBFa\xFF", "\u{feff}a\u{FFFD}", Encoding::DamagedUtf8),
            (b"caf\xE9 \xC9t\xE9", "caf\u{e9} \u{c9}t\u{e9}", Encoding::Windows1252),
        ];
        for (bytes, shown, expected) in table {
            let (text, encoding) = Encoding::decode(bytes.to_vec()).unwrap();
            assert_eq!(encoding, expected, "{bytes:?}");
            if expected == Encoding::DamagedUtf8 || bytes.starts_with(b"caf") {
                assert_eq!(encoding.shown(&text), shown);
            }
            assert_eq!(encoding.encode(&text).as_deref(), Ok(bytes));
        }
    }

    proptest! {
        #[test]
        fn a_text_survives_its_encoding(text in "[^\0\u{feff}]{1,40}") {
            for encoding in ALL {
                let Ok(bytes) = encoding.encode(&text) else { continue };
                let (decoded, found) = Encoding::decode(bytes).unwrap_or_else(|| (text.clone(), encoding));
                // A short text may look like another encoding's, but only of those without a mark.
                if found == encoding {
                    prop_assert_eq!(&decoded, &text);
                }
                prop_assert!(found == encoding || encoding == Encoding::Windows1252);
            }
        }

        #[test]
        fn every_file_is_written_back_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some((text, encoding)) = Encoding::decode(bytes.clone()) {
                prop_assert_eq!(encoding.encode(&text), Ok(bytes));
            }
        }
    }
}
