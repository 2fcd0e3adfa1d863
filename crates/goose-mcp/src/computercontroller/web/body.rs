//! Bytes of a page as text: compression and character sets.

use std::io::{self, Read as _};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use flate2::read::MultiGzDecoder;

/// Part of a page in which its character set is looked for.
const HEAD_BYTES: usize = 2 * 1024;

/// Share of control characters, one of this many bytes, above which a page is not text.
const CONTROL_SHARE: usize = 50;

/// Unpacks bytes; `None` if there are more than the limit.
pub(super) fn gunzip(bytes: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes).take(limit as u64 + 1).read_to_end(&mut unpacked)?;
    Ok((unpacked.len() <= limit).then_some(unpacked))
}

/// Returns the text of a page; `None` if it is not text. The character set is that of the byte order mark, of the
/// header, of the page itself, or UTF-8 if that fits, in this order.
pub(super) fn text(bytes: &[u8], content_type: &str) -> Option<String> {
    let kind = content_type.split('/').next().unwrap_or_default();
    if matches!(kind, "image" | "audio" | "video" | "font") && !content_type.contains("svg") {
        return None;
    }
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let named = || charset(content_type).or_else(|| charset(&head(bytes)));
    let encoding = marked.or_else(named);
    // UTF-16 has NUL bytes; other text has not.
    let is_utf16 = encoding.is_some_and(|encoding| encoding.name().starts_with("UTF-16"));
    let controls = bytes.iter().filter(|byte| **byte < b' ' && !b"\t\n\r\x0c\x1b".contains(byte)).count();
    if !is_utf16 && (controls * CONTROL_SHARE > bytes.len() || bytes.contains(&0)) {
        return None;
    }
    let fallback = if str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let (text, _, _) = encoding.unwrap_or(fallback).decode(bytes);
    Some(text.into_owned())
}

fn head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]).to_ascii_lowercase()
}

/// Returns the character set in `charset=…` or `encoding="…"`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let after =
        ["charset=", "encoding="].iter().find_map(|key| text.split_once(key)).map(|(_, after)| after)?;
    let is_label = |c: &char| c.is_ascii_alphanumeric() || "-_:.".contains(*c);
    let label: String = after.trim_start_matches(['"', '\'', ' ']).chars().take_while(is_label).collect();
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_character_set_that_they_name() {
        for (bytes, kind, expected) in [
            (b"gr\xc3\xbc\xc3\x9fe".as_slice(), "text/html", Some("grüße")),
            (b"gr\xfc\xdfe", "text/html", Some("grüße")),
            (b"gr\xfc\xdfe", "text/html; charset=iso-8859-1", Some("grüße")),
            (
                b"<meta charset='shift_jis'>\x83\x65\x83\x58\x83\x67",
                "text/html",
                Some("<meta charset='shift_jis'>テスト"),
            ),
            (
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                "text/xml",
                Some("<?xml version='1.0' encoding='koi8-r'?>П"),
            ),
            (b"\xff\xfea\0b\0", "text/plain", Some("ab")),
            (b"\x89PNG", "image/png", None),
            (b"a\0b\0\0\0", "application/octet-stream", None),
        ] {
            assert_eq!(text(bytes, kind).as_deref(), expected, "{kind}");
        }
    }
}
