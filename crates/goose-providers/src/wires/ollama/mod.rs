//! Ollama's own API. Its OpenAI-like one cannot be told how much of a conversation to keep, and cuts the rest without a
//! word; here the size is said, and what does not fit is an error.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer, one JSON object on each line.

mod decode;
mod encode;
mod messages;

use super::wire::{Ask, Codec, Wire};

/// A model that Ollama runs. [`ModelInfo::context_limit`](crate::ModelInfo::context_limit) is the room that it is given.
pub type Ollama = Wire<Native>;

/// The codec.
pub struct Native;

impl Codec for Native {
    type Decoder = decode::OllamaDecoder;

    const HEADERS: &'static [(&'static str, &'static str)] = &[("accept", "application/x-ndjson")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }
}
