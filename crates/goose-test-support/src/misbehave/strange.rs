//! Results that a client may not expect.

use serde_json::{Value, json};

use super::{
    message::{Reply, Request, response, text_result},
    options::Wire,
    padded::{FILLING, Padded},
};

/// The tools that give them.
pub(super) const NAMES: &[&str] =
    &["nul", "invalid_utf8", "image20mb", "empty", "no_content", "wrong_shape", "bad_base64"];

/// How many characters of base64 stand for an image of 20 MB.
const IMAGE_CHARACTERS: u64 = 20_000_000 / 3 * 4;

/// The result of one of the tools.
pub(super) fn reply(request: &Request, wire: Wire) -> Option<Reply> {
    Some(match request.params["name"].as_str()? {
        "nul" => Reply::text("before\0between\u{1}\u{7f}\u{1b}[31mafter"),
        "invalid_utf8" => invalid_utf8(request, wire),
        "image20mb" => padded(Padded::new(&response(&request.id, wire, image(FILLING)), IMAGE_CHARACTERS)),
        "empty" => Reply::Result(json!({ "content": [] })),
        "no_content" => Reply::Result(json!({})),
        "wrong_shape" => Reply::Result(json!("only a string")),
        "bad_base64" => Reply::Result(image("*** this is no base64 ***")),
        _ => return None,
    })
}

/// An answer of which most is filling.
pub(super) fn padded(padded: Padded) -> Reply {
    Reply::written(move |output| padded.write(output))
}

fn image(data: &str) -> Value {
    json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }], "isError": false })
}

/// Bytes that are no UTF-8, within the string.
fn invalid_utf8(request: &Request, wire: Wire) -> Reply {
    let text = response(&request.id, wire, text_result(FILLING.to_owned())).to_string();
    let mut bytes = Vec::new();
    if let Some((head, tail)) = text.split_once(FILLING) {
        bytes.extend(head.as_bytes());
        bytes.extend(b"caf\xe9 \xff\xfe");
        bytes.extend(tail.as_bytes());
    }
    Reply::written(move |output| output.write_all(&bytes))
}
