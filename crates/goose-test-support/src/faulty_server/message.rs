//! JSON-RPC messages, and the answers to requests.

use std::io;
use std::io::Write;
use std::sync::Arc;

use serde_json::{Value, json};

use super::options::Wire;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const UNSUPPORTED_VERSION: i32 = -32022;

/// A request, and where its answer goes.
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) outlet: Arc<dyn Outlet>,
}

/// Writes a whole message.
type Writer = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send>;

/// The outcome of a request.
pub(super) enum Reply {
    Result(Value),
    Error(Refusal),
    /// A whole message, written by hand.
    Message(Writer),
    Nothing,
}

/// Why a request is not served.
pub(super) struct Refusal {
    pub(super) code: i32,
    pub(super) text: String,
    pub(super) data: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: i32, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), data: None }
    }

    pub(super) fn message(&self, id: &Value) -> Value {
        error(id, self.code, &self.text, self.data.clone())
    }
}

impl Reply {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Result(text_result(text.into()))
    }

    pub(super) fn written(writer: impl Fn(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Self {
        Self::Message(Box::new(writer))
    }

    pub(super) fn refused(code: i32, text: impl Into<String>) -> Self {
        Self::Error(Refusal::new(code, text))
    }
}

impl Request {
    /// Sends the answer, if there is one.
    pub(super) fn answer(&self, wire: Wire, reply: Reply) -> io::Result<()> {
        match reply {
            Reply::Result(result) => self.outlet.message(&response(&self.id, wire, result)),
            Reply::Error(refusal) => self.outlet.message(&refusal.message(&self.id)),
            Reply::Message(writer) => self.outlet.send(&mut |output| writer(output)),
            Reply::Nothing => Ok(()),
        }
    }
}

/// The result of a call that is a text.
pub(super) fn text_result(text: String) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": false })
}

/// A response. The newer wire wants to know what kind of result it is.
pub(super) fn response(id: &Value, wire: Wire, mut result: Value) -> Value {
    if let (Wire::New, Some(result)) = (wire, result.as_object_mut()) {
        result.entry("resultType").or_insert_with(|| json!("complete"));
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn error(id: &Value, code: i32, text: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": text });
    if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
        error.insert("data".to_owned(), data);
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Writes one message, as JSON without a line end.
pub(super) type Writing<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// A way to the client. One message does not get mixed up with another.
pub(super) trait Outlet: Send + Sync {
    /// Sends what `writing` writes.
    fn send(&self, writing: Writing<'_>) -> io::Result<()>;
}

impl dyn Outlet {
    /// Sends an ordinary message.
    pub(super) fn message(&self, message: &Value) -> io::Result<()> {
        self.send(&mut |output| Ok(serde_json::to_writer(output, message)?))
    }
}

/// The placeholder for the filling of a message.
pub(super) const FILLING: &str = "<filling>";

/// Bytes that are written at a time.
const CHUNK: usize = 64 * 1024;

/// A message with a long middle.
pub(super) struct Padded {
    head: String,
    tail: String,
    fill: u64,
}

impl Padded {
    /// A message with `fill` bytes where it says [`FILLING`].
    pub(super) fn new(message: &Value, fill: u64) -> Self {
        let text = message.to_string();
        let (head, tail) = text.split_once(FILLING).unwrap_or((&text, ""));
        Self { head: head.to_owned(), tail: tail.to_owned(), fill }
    }

    /// A message that is `bytes` long as a whole, or as long as it is without the filling.
    pub(super) fn of_length(message: &Value, bytes: u64) -> Self {
        let mut padded = Self::new(message, 0);
        padded.fill = bytes.saturating_sub((padded.head.len() + padded.tail.len()) as u64);
        padded
    }

    pub(super) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let chunk = [b'A'; CHUNK];
        output.write_all(self.head.as_bytes())?;
        let mut rest = self.fill;
        while rest > 0 {
            let part = usize::try_from(rest).unwrap_or(CHUNK).min(CHUNK);
            output.write_all(&chunk[..part])?;
            rest -= part as u64;
        }
        output.write_all(self.tail.as_bytes())
    }
}
