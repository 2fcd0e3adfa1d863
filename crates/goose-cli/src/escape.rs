//! Escaping of untrusted text: characters that move the cursor, hide or reorder text are shown as escapes.

use std::{fmt::Write as _, path::Path};

use goose_extension::is_misleading;
/// Escapes prose, in which joiners are legitimate: between letters of Persian or Hindi, or parts of an emoji. Must not
/// be used for text that the user compares or approves.
pub(crate) use goose_extension::visible as prose;
/// Escapes misleading characters, except line breaks and tabs.
pub(crate) use goose_extension::visible_exactly as text;
/// Escapes text for a single line, including line breaks and tabs.
pub(crate) use goose_extension::visible_line as line;

/// Escapes a path for a single line.
pub(crate) fn path(path: &Path) -> String {
    line(&path.display().to_string()).into_owned()
}

/// Escapes JSON text with JSON escapes, so that its value is unchanged.
pub(crate) fn json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && c != '\u{7f}' || !is_misleading(c) {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value() -> serde_json::Result<()> {
        let value = serde_json::json!({ "text": "\u{1b}[2J\u{7f}\u{202e}\u{e0041}é\n" });
        let shown = json(&serde_json::to_string_pretty(&value)?);
        assert!(shown.chars().all(|c| c == '\n' || !is_misleading(c)), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown)?, value);
        Ok(())
    }
}
