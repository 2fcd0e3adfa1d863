//! OpenAI chat, and the many services that speak it.
//!
//! - `encode`: a request; `messages`: its conversation; `decode`: an answer; `chunk`: what its events look like;
//! - `details`: thoughts with signatures.

mod chunk;
mod decode;
mod details;
mod encode;
mod messages;

use async_trait::async_trait;

use self::decode::ChatDecoder;
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
const WIRE: &str = "openai-chat";

/// A model behind OpenAI's chat completions, or behind a service that offers the same.
pub struct OpenAiChat(Wire);

impl OpenAiChat {
    /// The model at an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self(Wire::new::<Chat>(endpoint, model))
    }
}

struct Chat;

impl Codec for Chat {
    type Decoder = ChatDecoder;

    const USUAL_KEY: UsualKey = UsualKey::Bearer;
    const HEADERS: &'static [(&'static str, &'static str)] = &[];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        encode::body(ask)
    }

    fn decoder(endpoint: &Endpoint) -> ChatDecoder {
        ChatDecoder::new(endpoint.clone())
    }
}

#[async_trait]
impl Provider for OpenAiChat {
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
        self.0.stream::<Chat>(request).await
    }
}
