//! [`Turn`]: what the model server does with one request.

use std::time::Duration;

use serde_json::Value;

/// An answer, built piece by piece, and how it ends: well, or in one of the ways in which answers break.
#[derive(Debug, Clone)]
#[must_use]
pub struct Turn {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The body where it is no stream of pieces.
    pub(super) raw: Option<Vec<u8>>,
    pub(super) pieces: Vec<Piece>,
    pub(super) stop: Option<String>,
    pub(super) usage: (u64, u64),
    pub(super) delay: Duration,
    pub(super) ending: Ending,
}

/// A piece of an answer. Neighbours of one kind are one block, in several deltas.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, arguments: String },
}

/// The end of an answer. Counts are in frames, as they go over the wire.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    Whole,
    /// The connection breaks.
    Cut(usize),
    /// The connection stays open, and nothing more comes.
    Silence(usize),
    /// Only signs of life come, this many, one each interval; then the rest.
    KeepAlives(usize, Duration),
    /// An error event comes, and the connection stays open.
    Failure(usize, String),
}

impl Turn {
    fn new() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            raw: None,
            pieces: Vec::new(),
            stop: None,
            usage: (100, 10),
            delay: Duration::ZERO,
            ending: Ending::Whole,
        }
    }

    /// An answer that says nothing.
    pub fn empty() -> Self {
        Self::new()
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().and_text(text)
    }

    /// A thought, and nothing else yet.
    pub fn thinking(text: impl Into<String>) -> Self {
        Self::new().piece(Piece::Thinking(text.into()))
    }

    /// A call of a tool.
    pub fn call(name: &str, arguments: Value) -> Self {
        Self::new().and_call(name, arguments)
    }

    /// An error status with a body as the services write it.
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({"error": {"type": "error", "message": message}});
        Self { status, raw: Some(body.to_string().into_bytes()), ..Self::new() }
            .with_header("content-type", "application/json")
    }

    /// These bytes as the whole body.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, raw: Some(body.into()), ..Self::new() }.with_header("content-type", content_type)
    }

    /// More text.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.piece(Piece::Text(text.into()))
    }

    /// A further call, under an id of its own: `call_1`, `call_2`, …
    pub fn and_call(self, name: &str, arguments: Value) -> Self {
        self.and_raw_call(name, &arguments.to_string())
    }

    /// A further call whose arguments are this text, JSON or not.
    pub fn and_raw_call(self, name: &str, arguments: &str) -> Self {
        let id = format!("call_{}", self.pieces.len() + 1);
        self.and_call_with_id(&id, name, arguments)
    }

    /// A further call under this id.
    pub fn and_call_with_id(self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.piece(Piece::Call { id, name, arguments })
    }

    /// The reason to stop in the wire's own word, where it is not the usual one.
    pub fn stopping_with(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// The same with this usage.
    pub fn costing(mut self, input: u64, output: u64) -> Self {
        self.usage = (input, output);
        self
    }

    /// A header of the response.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Nothing comes before this time is over.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The connection breaks after so many frames.
    pub fn cut_after(self, frames: usize) -> Self {
        self.ending(Ending::Cut(frames))
    }

    /// Nothing more comes after so many frames, but the connection stays open.
    pub fn silent_after(self, frames: usize) -> Self {
        self.ending(Ending::Silence(frames))
    }

    /// So many signs of life come first, one each interval.
    pub fn after_keep_alives(self, count: usize, interval: Duration) -> Self {
        self.ending(Ending::KeepAlives(count, interval))
    }

    /// An error event comes after so many frames, but the connection stays open.
    pub fn failing_after(self, frames: usize, message: &str) -> Self {
        self.ending(Ending::Failure(frames, message.to_owned()))
    }

    fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    fn piece(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    pub(super) fn asks_for_tools(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }))
    }

    /// The pieces as blocks: neighbours of one kind together, each call for itself.
    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        for piece in &self.pieces {
            match (piece, blocks.last_mut()) {
                (Piece::Text(text), Some(Block::Text(texts)))
                | (Piece::Thinking(text), Some(Block::Thinking(texts))) => texts.push(text),
                (Piece::Text(text), _) => blocks.push(Block::Text(vec![text])),
                (Piece::Thinking(text), _) => blocks.push(Block::Thinking(vec![text])),
                (Piece::Call { id, name, arguments }, _) => blocks.push(Block::Call { id, name, arguments }),
            }
        }
        blocks
    }
}

/// Pieces that belong together.
pub(super) enum Block<'a> {
    Text(Vec<&'a str>),
    Thinking(Vec<&'a str>),
    Call { id: &'a str, name: &'a str, arguments: &'a str },
}

/// A text in two halves, as streams have it.
pub(super) fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second]
}

/// An event without a name.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event under the name of its type.
pub(super) fn event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or("message");
    format!("event: {name}\ndata: {value}\n\n")
}
