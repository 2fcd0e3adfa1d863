//! The wires that goose leaves to the `genai` library: Google's Gemini, Gemini and Claude at Google's cloud, Amazon's
//! Converse.
//!
//! - `encode`: a request in the library's form; `decode`: its events, put together under our own caps;
//! - `relay`: its way to the service, on which goose reads before it does; `passing`: an answer on that way;
//! - `failure`: what went wrong, told apart by what can be done.
//!
//! What the library does not do well is kept away from: it reads nothing but whole events that are within the caps, it is
//! never asked to collect calls (a large index ends the process), each answer must end with a reason (it makes up ends for
//! streams that were cut), URLs end in a slash (or lose their last step), and a panic of its is an error. One of its faults
//! remains, within a limit: arguments in many small pieces cost quadratic time.

mod decode;
mod encode;
mod failure;
mod passing;
mod relay;

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use futures::StreamExt;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::ChatStreamEvent,
    resolver::{AuthData, Endpoint as Target},
};
use tokio::sync::Mutex;

use self::{
    decode::Decoding,
    relay::{Framing, Pass, Relay},
};
use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    http::Http,
    provider::{ModelInfo, Provider},
    reply::{ReplyEvent, ReplyStream},
    request::Request,
};

/// Whom to talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    /// Google's Gemini API.
    Gemini,
    /// Gemini and Claude at Google's cloud.
    Vertex,
    /// Amazon's Converse API.
    Bedrock,
}

impl Cloud {
    fn adapter(self) -> AdapterKind {
        match self {
            Self::Gemini => AdapterKind::Gemini,
            Self::Vertex => AdapterKind::Vertex,
            Self::Bedrock => AdapterKind::BedrockApi,
        }
    }

    fn framing(self) -> Framing {
        match self {
            Self::Gemini | Self::Vertex => Framing::Events,
            Self::Bedrock => Framing::Frames,
        }
    }

    /// Whose habits a model has there.
    fn style(self, model: &str) -> Style {
        match self {
            Self::Gemini => Style::Gemini,
            Self::Vertex if !model.contains("claude") => Style::Gemini,
            Self::Vertex => Style::Claude { wire: "vertex" },
            Self::Bedrock => Style::Claude { wire: "bedrock" },
        }
    }
}

/// How thoughts and calls are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Signatures come before what they sign, calls have no ids of their own.
    Gemini,
    /// A signature comes in pieces, after the thought that it signs.
    Claude { wire: &'static str },
}

impl Style {
    /// Whether the library writes marks for Claude's cache. Amazon's wire has them too, but not from the library.
    fn has_marks(self) -> bool {
        self == Self::Claude { wire: "vertex" }
    }

    /// The name under which what belongs to this wire is kept in a conversation.
    fn wire(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Claude { wire } => wire,
        }
    }
}

/// A model behind one of these wires.
pub(crate) struct Gateway {
    cloud: Cloud,
    http: Arc<Http>,
    model: ModelInfo,
    relay: Mutex<Option<Arc<Relay>>>,
}

impl Gateway {
    /// The model at an endpoint, whose URL is the base that the cloud's paths are added to. Nothing is connected yet.
    pub(crate) fn new(cloud: Cloud, mut endpoint: Endpoint, model: ModelInfo) -> Self {
        if !endpoint.url.path().ends_with('/') {
            let path = format!("{}/", endpoint.url.path());
            endpoint.url.set_path(&path);
        }
        Self { cloud, http: Arc::new(Http::new(endpoint)), model, relay: Mutex::default() }
    }

    async fn relay(&self) -> ProviderResult<Arc<Relay>> {
        let mut relay = self.relay.lock().await;
        if let Some(open) = relay.as_ref().filter(|relay| relay.is_open()) {
            return Ok(Arc::clone(open));
        }
        let new = Arc::new(Relay::start(Arc::clone(&self.http), self.cloud.framing()).await?);
        *relay = Some(Arc::clone(&new));
        Ok(new)
    }

    fn target(&self, relay: &Relay) -> ServiceTarget {
        let key = self.http.endpoint().key.as_ref().map(|key| key.expose().to_owned()).unwrap_or_default();
        ServiceTarget {
            endpoint: Target::from_owned(relay.url().as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.cloud.adapter(), self.model.name.as_str()),
        }
    }
}

#[async_trait]
impl Provider for Gateway {
    fn name(&self) -> &str {
        &self.http.endpoint().provider
    }

    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn prepare(&self) {
        // What is wrong is said when it is asked.
        let _ = self.http.prepare();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let endpoint = self.http.endpoint();
        let style = self.cloud.style(&self.model.name);
        let relay = self.relay().await?;
        let pass = relay.pass()?;
        let asked = encode::request(style, &self.model, request);
        let options = encode::options(&self.model, request.options, &pass);
        let response = relay.client().exec_chat_stream(self.target(&relay), asked, Some(&options)).await;
        let events = response.map_err(|error| failure::of(endpoint, error, None))?.stream;
        let mut reading = Reading {
            events: Box::pin(AssertUnwindSafe(events).catch_unwind()),
            decoding: Decoding::new(style),
            endpoint: endpoint.clone(),
            pass,
            _relay: relay,
            ended: false,
        };
        // A refusal is known before the answer begins.
        reading.read().await?;
        Ok(Box::pin(futures::stream::unfold(reading, |mut reading| async move {
            let item = reading.next().await?;
            Some((item, reading))
        })))
    }
}

/// The library's events; what panics inside of it ends up in the outer error.
type Events = futures::stream::BoxStream<
    'static,
    Result<genai::Result<ChatStreamEvent>, Box<dyn std::any::Any + Send>>,
>;

struct Reading {
    events: Events,
    decoding: Decoding,
    endpoint: Endpoint,
    pass: Pass,
    /// The way must stay open, also where nobody asks the model again.
    _relay: Arc<Relay>,
    ended: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<ProviderResult<ReplyEvent>> {
        loop {
            if let Some(event) = self.decoding.next() {
                return Some(Ok(event));
            }
            if self.ended || self.decoding.is_done() {
                return None;
            }
            if let Err(error) = self.read().await {
                self.ended = true;
                return Some(Err(error));
            }
        }
    }

    /// Takes events until one says something.
    async fn read(&mut self) -> ProviderResult<()> {
        loop {
            return match self.events.next().await {
                Some(Ok(Ok(ChatStreamEvent::Start | ChatStreamEvent::Heartbeat))) => continue,
                // The library makes up an end for a stream that was cut: it has no reason then.
                Some(Ok(Ok(ChatStreamEvent::End(end)))) => match end.captured_stop_reason {
                    Some(reason) => self.decoding.end(reason, end.captured_usage.as_ref()),
                    None => Err(self.cut()),
                },
                Some(Ok(Ok(event))) => self.decoding.take(event),
                Some(Ok(Err(error))) => Err(failure::of(&self.endpoint, error, self.pass.failure())),
                Some(Err(_)) => Err(broken()),
                None => Err(self.cut()),
            };
        }
    }

    fn cut(&self) -> ProviderError {
        failure::cut(&self.endpoint, self.pass.failure())
    }
}

fn broken() -> ProviderError {
    ProviderError::Protocol { message: "the library that reads it has failed".to_owned() }
}
