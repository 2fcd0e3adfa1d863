//! OpenAI Responses. Nothing is stored at the service: what a model thought comes back sealed, and is sent again.
//!
//! - `encode`: a request; `items`: its conversation; `decode`: an answer; `event`: what its events look like.

mod decode;
mod encode;
mod event;
mod items;

use async_trait::async_trait;

use self::decode::ResponsesDecoder;
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
const WIRE: &str = "openai-responses";

/// A model behind OpenAI's Responses, or behind a service that offers the same.
pub struct OpenAiResponses(Wire);

impl OpenAiResponses {
    /// The model at an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self(Wire::new::<Responses>(endpoint, model))
    }
}

struct Responses;

impl Codec for Responses {
    type Decoder = ResponsesDecoder;

    const USUAL_KEY: UsualKey = UsualKey::Bearer;
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }

    fn decoder(endpoint: &Endpoint) -> ResponsesDecoder {
        ResponsesDecoder::new(endpoint.clone())
    }
}

#[async_trait]
impl Provider for OpenAiResponses {
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
        self.0.stream::<Responses>(request).await
    }
}
