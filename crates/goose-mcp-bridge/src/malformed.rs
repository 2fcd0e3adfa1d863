//! Messages that cannot be read: the members that are still readable, and the errors that answer them.

use goose_extension::visible_line;
use goose_fs::truncate_chars;
use rmcp::model::{ErrorData, RequestId};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};

/// Bytes of a text that are decoded, and characters of it that are quoted.
const MAX_QUOTE_BYTES: usize = 512;
const MAX_QUOTE_CHARS: usize = 120;

/// Members of a message that can be read when the rest cannot.
///
/// Skipping the other members does not recurse, so this works for messages that nest too deep.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope {
    /// `Some(Null)` for a null id, which is allowed neither in a request nor in a notification.
    #[serde(deserialize_with = "present_value")]
    id: Option<Value>,
    method: Option<Value>,
    #[serde(deserialize_with = "is_present")]
    result: bool,
    #[serde(deserialize_with = "is_present")]
    error: bool,
}

fn present_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn is_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl Envelope {
    /// Reads the members of an object. Any other text has none.
    pub(super) fn read(text: &[u8]) -> Self {
        // serde would read a struct from an array too, but a batch is not a message.
        let is_object = text.trim_ascii_start().starts_with(b"{");
        is_object.then(|| serde_json::from_slice(text).ok()).flatten().unwrap_or_default()
    }

    /// Returns the id, if MCP allows it.
    pub(super) fn request_id(&self) -> Option<RequestId> {
        RequestId::deserialize(self.id.as_ref()?).ok()
    }

    pub(super) fn method(&self) -> Option<&str> {
        self.method.as_ref()?.as_str()
    }

    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    pub(super) fn has_null_id(&self) -> bool {
        self.id == Some(Value::Null)
    }

    /// Returns whether the message can be a response, valid or not.
    pub(super) fn may_be_response(&self) -> bool {
        self.method.is_none()
    }

    /// Returns the id for an error response: JSON-RPC allows any string or number, and null otherwise.
    fn echoed_id(&self) -> Value {
        self.id.clone().filter(|id| id.is_string() || id.is_number()).unwrap_or_default()
    }
}

/// Returns the error response to a text that is not a message; `None` if the text is itself a response.
pub(super) fn error_response(text: &[u8]) -> Option<Value> {
    let envelope = Envelope::read(text);
    // A response is never answered: the error would fail a request of the peer that has the same id.
    if envelope.may_be_response() && (envelope.result || envelope.error) {
        return None;
    }
    let (error, id) = match json_fault(text) {
        Some(fault) => {
            let text = format!(
                "The line is not JSON ({fault}): `{}`. Send one JSON-RPC message per line.",
                quote(text)
            );
            (ErrorData::parse_error(text, None), Value::Null)
        }
        None => {
            let text = format!(
                "The line is not a JSON-RPC request, notification or response: `{}`. Send one message per \
                 line, and no batches.",
                quote(text)
            );
            (ErrorData::invalid_request(text, None), envelope.echoed_id())
        }
    };
    // rmcp's type leaves out an unknown id; JSON-RPC demands null.
    Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

fn json_fault(text: &[u8]) -> Option<String> {
    if let Err(error) = std::str::from_utf8(text) {
        return Some(error.to_string());
    }
    serde_json::from_slice::<IgnoredAny>(text).err().map(|error| error.to_string())
}

/// Returns the error that answers a request that cannot be read.
pub(super) fn unreadable_request(method: &str, reason: &dyn std::fmt::Display) -> ErrorData {
    let (method, reason) = (quote(method.as_bytes()), quote(reason.to_string().as_bytes()));
    let text = format!("The `{method}` request could not be read: {reason}. Send a valid MCP request.");
    ErrorData::invalid_request(text, None)
}

fn quote(text: &[u8]) -> String {
    let start = text.get(..MAX_QUOTE_BYTES).unwrap_or(text);
    truncate_chars(&visible_line(&String::from_utf8_lossy(start)), MAX_QUOTE_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Option<(i64, Value)> {
        let response = error_response(text.as_bytes())?;
        Some((response["error"]["code"].as_i64()?, response["id"].clone()))
    }

    #[test]
    fn only_valid_json_counts_as_an_invalid_request() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for (text, code) in
            [("{", -32700), ("{} {}", -32700), ("nul", -32700), ("null", -32600), ("[]", -32600)]
        {
            assert_eq!(answer(text), Some((code, Value::Null)), "{text}");
        }
        assert_eq!(answer(&deep), Some((-32600, Value::Null)));
        assert_eq!(error_response(b"\"\xff\"").map(|it| it["error"]["code"].clone()), Some(json!(-32700)));
    }

    #[test]
    fn an_error_repeats_ids_that_are_strings_or_numbers() {
        for (id, echoed) in
            [("7", json!(7)), ("1.5", json!(1.5)), (r#""a""#, json!("a")), ("{}", json!(null))]
        {
            assert_eq!(answer(&format!(r#"{{"id":{id}}}"#)), Some((-32600, echoed)), "{id}");
        }
        assert_eq!(answer(r#"[7,"ping"]"#), Some((-32600, Value::Null)));
    }

    #[test]
    fn responses_are_not_answered() {
        for text in [r#"{"id":7,"result":null}"#, r#"{"id":7,"error":1}"#, r#"{"error":1,"result":2}"#] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[test]
    fn quotes_are_short_and_printable() {
        let text = quote("\u{1b}ü".repeat(MAX_QUOTE_BYTES).as_bytes());
        assert!(text.chars().count() <= MAX_QUOTE_CHARS + 1 && text.starts_with("\\u{1b}ü"), "{text}");
    }
}
