//! The wires that goose leaves to the `genai` library: Google's Gemini, Gemini and Claude at Google's cloud, Amazon's
//! Converse.
//!
//! - `encode`: a request in the library's form; `decode`: its events, put together under our own caps;
//! - `client`: its client, made when it is first needed; `failure`: what went wrong, told apart by what can be done.
//!
//! What the library does not do well is kept away from: it is never asked to collect calls (a large index ends the
//! process), each answer must end with a reason (it makes up ends for streams that were cut), statuses are taken out of
//! the errors that hide them, URLs end in a slash (or lose their last step), and a panic of its is an error. What an answer
//! holds is counted event by event as the library reads it. Three of its faults remain, for it reads the connection itself
//! and nothing can stand in between: one event, and the text of one refusal, have no cap but the service's own honesty, and
//! arguments in many small pieces cost quadratic time.

mod client;
mod decode;
mod encode;
mod failure;

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use futures::StreamExt;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::ChatStreamEvent,
    resolver::{AuthData, Endpoint as Target},
};

use self::decode::Decoding;
use super::assembly::{Assembly, too_much};
use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    provider::{ModelInfo, Provider},
    reply::{ReplyEvent, ReplyStream},
    request::Request,
};

/// How many bytes one answer may have in all of its events.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

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
    endpoint: Endpoint,
    model: ModelInfo,
    client: OnceLock<ProviderResult<genai::Client>>,
}

impl Gateway {
    /// The model at an endpoint, whose URL is the base that the cloud's paths are added to. Nothing is connected yet.
    pub(crate) fn new(cloud: Cloud, mut endpoint: Endpoint, model: ModelInfo) -> Self {
        if !endpoint.url.path().ends_with('/') {
            let path = format!("{}/", endpoint.url.path());
            endpoint.url.set_path(&path);
        }
        Self { cloud, endpoint, model, client: OnceLock::new() }
    }

    fn client(&self) -> ProviderResult<&genai::Client> {
        self.client.get_or_init(|| client::build(&self.endpoint)).as_ref().map_err(Clone::clone)
    }

    fn target(&self) -> ServiceTarget {
        let key = self.endpoint.key.as_ref().map(|key| key.expose().to_owned()).unwrap_or_default();
        ServiceTarget {
            endpoint: Target::from_owned(self.endpoint.url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.cloud.adapter(), self.model.name.as_str()),
        }
    }
}

#[async_trait]
impl Provider for Gateway {
    fn name(&self) -> &str {
        &self.endpoint.provider
    }

    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn prepare(&self) {
        // What is wrong is said when it is asked.
        let _ = self.client();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let style = self.cloud.style(&self.model.name);
        let asked = encode::request(style, &self.model, request);
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        let options = encode::options(&self.endpoint, &self.model, request.options).with_raw_frame_fn(
            move |_, frame| {
                counted.fetch_add(frame.data.len(), Ordering::Relaxed);
            },
        );
        let response = self.client()?.exec_chat_stream(self.target(), asked, Some(&options)).await;
        let events = response.map_err(|error| failure::of(&self.endpoint, error))?.stream;
        let decoding = Decoding::new(style, Assembly::new());
        let mut reading = Reading {
            events: Box::pin(AssertUnwindSafe(events).catch_unwind()),
            decoding,
            endpoint: self.endpoint.clone(),
            taken,
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
    /// How many bytes the library has read.
    taken: Arc<AtomicUsize>,
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
            let event = self.events.next().await;
            if self.taken.load(Ordering::Relaxed) > MAX_ANSWER_BYTES {
                return Err(too_much(&format!("it is larger than {} MiB", MAX_ANSWER_BYTES >> 20)));
            }
            match event {
                Some(Ok(Ok(ChatStreamEvent::Start | ChatStreamEvent::Heartbeat))) => {}
                Some(Ok(Ok(event))) => return self.decoding.take(event, &self.endpoint),
                Some(Ok(Err(error))) => return Err(failure::of(&self.endpoint, error)),
                Some(Err(_)) => return Err(broken()),
                None => return Err(failure::cut(&self.endpoint)),
            }
        }
    }
}

fn broken() -> ProviderError {
    ProviderError::Protocol { message: "the library that reads it has failed".to_owned() }
}
