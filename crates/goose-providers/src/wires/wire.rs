//! [`Wire`]: an endpoint, a model and the codec between them, ready to be asked. Each wire that goose speaks itself is
//! one.

use std::marker::PhantomData;

use async_trait::async_trait;
use goose_extension::MAX_MEDIA_BYTES;

use crate::{
    endpoint::{Dialect, Endpoint},
    error::ProviderResult,
    http::{Http, WireHeaders},
    provider::{ModelInfo, Provider, Request},
    reply::ReplyStream,
    wires::{
        content::VisionSupport,
        history::History,
        stream::{self, Decoder},
    },
};

/// The differences between the wires.
pub(super) trait Codec: Send + Sync + 'static {
    /// Reads an answer.
    type Decoder: Decoder + 'static;

    /// The headers that it wants.
    const HEADERS: WireHeaders = WireHeaders::BEARER;

    /// Most tools that services of this wire take, if there is a known limit.
    const MAX_TOOLS: Option<usize> = None;

    /// Largest image that its services take, as base64.
    const MAX_IMAGE_BYTES: usize = MAX_MEDIA_BYTES;

    /// The body of a request.
    fn encode(ask: &Ask<'_>) -> Vec<u8>;
}

/// The input of a codec.
pub(super) struct Ask<'a> {
    pub(super) request: Request<'a>,
    pub(super) model: &'a ModelInfo,
    pub(super) dialect: Dialect,
    pub(super) history: &'a History,
    /// Largest image that is sent, as base64.
    pub(super) max_image_bytes: usize,
}

impl Ask<'_> {
    pub(super) fn vision(&self) -> VisionSupport {
        VisionSupport::from_model(self.model, self.max_image_bytes)
    }

    /// The temperature with the digits that were set: 0.7, not the nearest `f32` to it.
    pub(super) fn temperature(&self) -> Option<f64> {
        self.request.options.temperature.map(|wanted| (f64::from(wanted) * 1e6).round() / 1e6)
    }

    /// The key under which the service may cache the conversation.
    pub(super) fn cache_key(&self) -> Option<&str> {
        const MAX_KEY_BYTES: usize = 64;
        let key = self.request.options.conversation.as_deref().filter(|_| self.dialect == Dialect::Full)?;
        key.get(..key.floor_char_boundary(MAX_KEY_BYTES)).filter(|key| !key.is_empty())
    }
}

/// A model behind a wire whose codec is `C`.
pub struct Wire<C> {
    http: Http,
    model: ModelInfo,
    history: History,
    codec: PhantomData<C>,
}

impl<C> Wire<C> {
    /// The model at an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self { http: Http::new(endpoint), model, history: History::default(), codec: PhantomData }
    }
}

#[async_trait]
impl<C: Codec> Provider for Wire<C> {
    fn name(&self) -> &str {
        &self.http.endpoint().provider
    }

    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn max_tools(&self) -> Option<usize> {
        C::MAX_TOOLS
    }

    fn max_image_bytes(&self) -> usize {
        C::MAX_IMAGE_BYTES
    }

    fn prepare(&self) {
        // What is wrong is said when it is asked.
        let _ = self.http.prepare();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let endpoint = self.http.endpoint();
        let ask = Ask {
            request,
            model: &self.model,
            dialect: endpoint.dialect,
            history: &self.history,
            max_image_bytes: C::MAX_IMAGE_BYTES,
        };
        let body = self.http.post(C::encode(&ask), C::HEADERS).await?;
        Ok(stream::read_reply::<C::Decoder>(body))
    }
}
