//! [`Encoding`]: how a file's text is written down, and back without a loss.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";

/// One of how many bytes may be a control character in text that is not Unicode.
const CONTROL_SHARE: usize = 100;

/// How a file's text is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf8WithBom,
    Utf16Le,
    Utf16Be,
    /// What is no Unicode: each byte is one character of Western Europe, so nothing is lost on the way back.
    Windows1252,
}

impl Encoding {
    /// The name, for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8WithBom => "UTF-8 with a byte order mark",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Windows1252 => "Windows-1252",
        }
    }

    /// The text in a file, and how it is written down; `None` for what is no text.
    pub(super) fn decode(bytes: Vec<u8>) -> Option<(String, Self)> {
        if let Some(rest) = bytes.strip_prefix(UTF8_BOM) {
            return Some((str::from_utf8(rest).ok()?.to_owned(), Self::Utf8WithBom));
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
            Err(error) => {
                let bytes = error.as_bytes();
                let is_text = bytes.iter().filter(|it| is_odd(**it)).count() * CONTROL_SHARE <= bytes.len();
                is_text.then(|| {
                    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
                    (text.into_owned(), Self::Windows1252)
                })
            }
        }
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
            Self::Windows1252 => match WINDOWS_1252.encode(text) {
                (bytes, _, false) => Ok(Cow::into_owned(bytes)),
                _ => Err(text.chars().find(|it| !has_letter(*it)).unwrap_or(char::REPLACEMENT_CHARACTER)),
            },
        }
    }
}

/// Whether Windows-1252 has a letter.
fn has_letter(letter: char) -> bool {
    let (_, _, is_missing) = WINDOWS_1252.encode(letter.encode_utf8(&mut [0; 4]));
    !is_missing
}

fn is_odd(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

fn utf16(bytes: &[u8], join: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, []) = bytes.as_chunks() else { return None };
    char::decode_utf16(pairs.iter().copied().map(join)).collect::<Result<_, _>>().ok()
}

fn to_utf16(mark: &[u8], text: &str, split: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(split)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 5] =
        [Encoding::Utf8, Encoding::Utf8WithBom, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Windows1252];

    #[test]
    fn what_is_no_text_is_seen() {
        let table: [&[u8]; 5] =
            [b"a\0b", b"\xFF\xFEa", b"\xFF\xFE\x00\xD8a\0", b"\xEF\xBB\xBF\xFF", b"\x80\x01\x02\x03"];
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
