//! Anthropic's messages, and the services that offer the same.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer; `event`: what its events look like.

mod decode;
mod encode;
mod event;
mod messages;

use async_trait::async_trait;

use self::decode::AnthropicDecoder;
use super::wire::{Ask, Codec, Wire};
use crate::{
    endpoint::Endpoint,
    error::ProviderResult,
    http::UsualKey,
    provider::{ModelInfo, Provider},
    reply::ReplyStream,
    request::Request,
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "anthropic";

/// A model behind Anthropic's messages, or behind a service that offers the same.
pub struct Anthropic(Wire);

impl Anthropic {
    /// The model at an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self(Wire::new::<Messages>(endpoint, model))
    }
}

struct Messages;

impl Codec for Messages {
    type Decoder = AnthropicDecoder;

    const USUAL_KEY: UsualKey = UsualKey::XApiKey;
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }

    fn decoder(endpoint: &Endpoint) -> AnthropicDecoder {
        AnthropicDecoder::new(endpoint.clone())
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn model(&self) -> &ModelInfo {
        self.0.model()
    }

    fn prepare(&self) {
        self.0.prepare();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        self.0.stream::<Messages>(request).await
    }
}
