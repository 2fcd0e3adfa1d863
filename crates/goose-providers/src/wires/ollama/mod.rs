//! Ollama's own API. Its OpenAI-like one cannot be told how much of a conversation to keep, and cuts the rest without a
//! word; here the size is said, and what does not fit is an error.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer, one JSON object on each line.

mod decode;
mod encode;
mod messages;

use async_trait::async_trait;

use self::decode::OllamaDecoder;
use super::wire::{Ask, Codec, Wire};
use crate::{
    endpoint::Endpoint,
    error::ProviderResult,
    http::UsualKey,
    provider::{ModelInfo, Provider},
    reply::ReplyStream,
    request::Request,
};

/// A model that Ollama runs. [`ModelInfo::context_limit`] is the room that it is given.
pub struct Ollama(Wire);

impl Ollama {
    /// The model at an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self(Wire::new::<Native>(endpoint, model))
    }
}

struct Native;

impl Codec for Native {
    type Decoder = OllamaDecoder;

    const USUAL_KEY: UsualKey = UsualKey::Bearer;
    const HEADERS: &'static [(&'static str, &'static str)] = &[("accept", "application/x-ndjson")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }

    fn decoder(endpoint: &Endpoint) -> OllamaDecoder {
        OllamaDecoder::new(endpoint.clone())
    }
}

#[async_trait]
impl Provider for Ollama {
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
        self.0.stream::<Native>(request).await
    }
}
