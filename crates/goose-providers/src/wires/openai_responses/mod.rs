//! OpenAI Responses. Nothing is stored at the service: what a model thought comes back sealed, and is sent again.
//!
//! - `encode`: a request; `items`: its conversation; `decode`: an answer; `event`: what its events look like.

mod decode;
mod encode;
mod event;
mod items;

use super::wire::{Ask, Codec, Wire};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "openai-responses";

/// A model behind OpenAI's Responses, or behind a service that offers the same.
pub type OpenAiResponses = Wire<Responses>;

/// The codec.
pub struct Responses;

impl Codec for Responses {
    type Decoder = decode::ResponsesDecoder;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }
}
