//! [`ServedProvider`]: a small model at a server, such as Ollama, LM Studio or llama.cpp's. It is asked step by step as the one inside
//! goose is; the server keeps its answers within a JSON Schema.

use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use futures::StreamExt as _;
use goose_engine::{Ended, Speaker, Turn};
use goose_extension::Message;
use goose_providers::{
    ModelInfo, PromptStyle, Provider, ProviderResult, ReplyEvent, ReplyStream, Request, RequestOptions,
    StopReason, Usage,
};

use super::{
    answer::{Question, max_events},
    backend::{Backend, Prompt, Read, Written},
    form::Form,
    goals::Goals,
    local::{MAX_TOOL_TOKENS, next_id, streaming},
};

/// A small model at a server.
pub struct ServedProvider {
    server: Arc<dyn Provider>,
    info: ModelInfo,
    goals: Goals,
}

impl ServedProvider {
    /// Asks the model of this provider.
    pub fn new(server: Arc<dyn Provider>) -> Self {
        let mut info = server.model().clone();
        info.prompt_style = PromptStyle::Brief;
        info.max_tool_tokens = Some(MAX_TOOL_TOKENS);
        Self { server, info, goals: Goals::default() }
    }
}

#[async_trait]
impl Provider for ServedProvider {
    fn name(&self) -> &str {
        self.server.name()
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn prepare(&self) {
        self.server.prepare();
    }

    async fn stream(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let max_events = max_events(request.options);
        let question = Question::new(request, next_id(), self.goals.clone());
        let mut server = Server(Arc::clone(&self.server));
        Ok(streaming(max_events, |events| async move { question.answer(&mut server, &events).await }))
    }
}

struct Server(Arc<dyn Provider>);

#[async_trait]
impl Backend for Server {
    async fn write(&mut self, prompt: Prompt<'_>, read: &mut Read<'_>) -> ProviderResult<Written> {
        let turns: Vec<&Turn> = prompt.opening.iter().chain(prompt.turns).collect();
        let (system, turns) = match turns.split_first() {
            Some((first, rest)) if first.speaker == Speaker::System => (first.text.as_str(), rest),
            _ => ("", turns.as_slice()),
        };
        let message = |turn: &&Turn| match turn.speaker {
            Speaker::Model => Arc::new(Message::assistant(&turn.text)),
            Speaker::User | Speaker::System => Arc::new(Message::user(&turn.text)),
        };
        let messages: Vec<Arc<Message>> = turns.iter().map(message).collect();
        let options = RequestOptions {
            temperature: Some(prompt.temperature),
            max_tokens: Some(prompt.max_tokens as u64),
            schema: prompt.form.map(Form::schema),
            ..RequestOptions::default()
        };
        let request = Request { system, messages: &messages, tools: &[], options: &options };
        let mut stream = self.0.stream(request).await?;
        let (mut usage, mut ended) = (Usage::default(), Ended::Complete);
        while let Some(event) = stream.next().await {
            match event? {
                ReplyEvent::Text(text) if read(&text) == ControlFlow::Break(()) => {
                    ended = Ended::Cancelled;
                    break;
                }
                ReplyEvent::Usage(so_far) => usage = so_far,
                ReplyEvent::Finished(StopReason::MaxTokens) => ended = Ended::TooLong,
                _ => {}
            }
        }
        Ok(Written { ended, usage })
    }
}
