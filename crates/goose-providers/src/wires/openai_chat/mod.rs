//! OpenAI chat, and the many services that speak it.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer; `chunk`: what its events look like;
//! - `details`: thoughts with signatures.

mod chunk;
mod decode;
mod details;
mod encode;
mod messages;

use super::wire::{Ask, Codec, Wire};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "openai-chat";

/// A model behind OpenAI's chat completions, or behind a service that offers the same.
pub type OpenAiChat = Wire<Chat>;

/// The codec.
pub struct Chat;

impl Codec for Chat {
    type Decoder = decode::ChatDecoder;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }
}
