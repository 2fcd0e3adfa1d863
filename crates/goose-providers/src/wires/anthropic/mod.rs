//! Anthropic's messages, and the services that offer the same.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer; `event`: what its events look like.

mod decode;
mod encode;
mod event;
mod messages;

pub(super) use self::encode::claude_options;
use super::wire::{Ask, Codec, Wire};
use crate::http::UsualKey;

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "anthropic";

/// A model behind Anthropic's messages, or behind a service that offers the same.
pub type Anthropic = Wire<Messages>;

/// The codec.
pub struct Messages;

impl Codec for Messages {
    type Decoder = decode::AnthropicDecoder;

    const USUAL_KEY: UsualKey = UsualKey::Header("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask, None)
    }
}

/// A Claude at Google's cloud.
pub(crate) type VertexClaude = Wire<VertexMessages>;

/// The codec for it: the model is part of the URL, the version part of the body.
pub(crate) struct VertexMessages;

impl Codec for VertexMessages {
    type Decoder = decode::AnthropicDecoder;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask, Some("vertex-2023-10-16"))
    }
}
