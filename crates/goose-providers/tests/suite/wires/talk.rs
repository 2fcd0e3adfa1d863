//! Asking a scripted server through the real providers.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use goose_extension::{Message, MessageContent, Tool};
use goose_providers::{
    Anthropic, Bedrock, Dialect, Endpoint, Gemini, ModelInfo, OpenAiChat, OpenAiResponses, Provider,
    ProviderError, ProviderResult, Reply, ReplyEvent, Request, RequestOptions,
};
use serde_json::{Value, json};

use super::{
    server::{Answer, Server},
    speak::Tongue,
};

/// No test may take longer, whatever hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// The key that no error may show.
pub(crate) const KEY: &str = "sk-canary-key";

impl Tongue {
    /// A model on this wire that thinks and sees.
    pub(crate) fn model(self) -> ModelInfo {
        let name = match self {
            Self::Chat => "gpt-4.1",
            Self::Responses => "gpt-5",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Gemini => "gemini-2.5-pro",
            Self::Converse => "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        };
        ModelInfo::new(name, 200_000)
    }

    pub(crate) fn endpoint(self, url: &str) -> Endpoint {
        let url = url::Url::parse(url).unwrap();
        let endpoint = Endpoint::new("example", url).with_key(KEY, "EXAMPLE_API_KEY");
        Endpoint { dialect: Dialect::Full, ..endpoint }
    }

    pub(crate) fn provider(self, endpoint: Endpoint, model: ModelInfo) -> Arc<dyn Provider> {
        match self {
            Self::Chat => Arc::new(OpenAiChat::new(endpoint, model)),
            Self::Responses => Arc::new(OpenAiResponses::new(endpoint, model)),
            Self::Anthropic => Arc::new(Anthropic::new(endpoint, model)),
            Self::Gemini => Arc::new(Gemini::new(endpoint, model)),
            Self::Converse => Arc::new(Bedrock::new(endpoint, model)),
        }
    }

    /// The model at a server.
    pub(crate) fn at(self, server: &Server) -> Arc<dyn Provider> {
        self.provider(self.endpoint(&format!("http://{}/v1", server.address())), self.model())
    }

    /// Asks a server that gives this answer, and reads everything.
    pub(crate) async fn hear(self, answer: Answer) -> Heard {
        let server = Server::always(answer).await;
        ask(&*self.at(&server), &[Message::user("hello").into()]).await
    }
}

/// All that came of one request.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) events: Vec<ReplyEvent>,
    pub(crate) error: Option<ProviderError>,
}

impl Heard {
    /// The answer; it must have come to its end.
    pub(crate) fn reply(self) -> Reply {
        assert_eq!(self.error, None, "{:?}", self.events);
        let finished = self.events.iter().filter(|event| matches!(event, ReplyEvent::Finished(_))).count();
        assert_eq!(finished, 1, "{:?}", self.events);
        assert!(matches!(self.events.last(), Some(ReplyEvent::Finished(_))), "{:?}", self.events);
        let mut collector = goose_providers::Collector::new();
        self.events.into_iter().for_each(|event| collector.push(event));
        collector.finish().unwrap()
    }

    /// The error; no answer may have come to its end.
    pub(crate) fn failure(self) -> ProviderError {
        assert!(
            !self.events.iter().any(|event| matches!(event, ReplyEvent::Finished(_))),
            "{:?}",
            self.events
        );
        let error = self.error.expect("an error");
        let shown = format!("{error} {error:?} {:?}", error.hint());
        assert!(!shown.contains(KEY), "{shown}");
        error
    }

    pub(crate) fn text(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            ReplyEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

pub(crate) async fn ask(provider: &dyn Provider, messages: &[Arc<Message>]) -> Heard {
    ask_with(provider, "", messages, &[], &RequestOptions::default()).await
}

pub(crate) async fn ask_with(
    provider: &dyn Provider,
    system: &str,
    messages: &[Arc<Message>],
    tools: &[Tool],
    options: &RequestOptions,
) -> Heard {
    let request = Request { system, messages, tools, options };
    tokio::time::timeout(LONGEST, read(provider, request)).await.expect("an end in time")
}

async fn read(provider: &dyn Provider, request: Request<'_>) -> Heard {
    let mut heard = Heard { events: Vec::new(), error: None };
    let mut stream = match provider.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return Heard { error: Some(error), ..heard },
    };
    while let Some(event) = stream.next().await {
        assert_eq!(heard.error, None, "nothing comes after an error");
        match event {
            Ok(event) => heard.events.push(event),
            Err(error) => heard.error = Some(error),
        }
    }
    heard
}

/// Begins to ask, and gives back the stream.
pub(crate) async fn begin(provider: &dyn Provider) -> ProviderResult<goose_providers::ReplyStream> {
    let messages = [Message::user("hello").into()];
    provider
        .stream(Request { system: "", messages: &messages, tools: &[], options: &RequestOptions::default() })
        .await
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> MessageContent {
    MessageContent::ToolCall { id: id.into(), name: name.into(), arguments, opaque: None }
}

/// A tool as an extension would describe it.
pub(crate) fn shell_tool() -> Tool {
    let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Shell", "type": "object",
        "properties": { "command": { "type": "string", "description": "What to run" } }, "required": ["command"] });
    let Value::Object(schema) = schema else { unreachable!() };
    Tool::new("developer__shell", "Runs a command.", schema)
}
