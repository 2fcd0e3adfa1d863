//! [`Server`]: a model on a server, which restricts the text to a JSON Schema.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use goose_engine::{EndReason, Speaker, Turn};
use goose_extension::Message;
use goose_providers::{Provider, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, Usage};

use super::{Backend, Completion, Prompt, TextSink};
use crate::provider::Form;

/// Model on a server.
pub(crate) struct Server(pub(crate) Arc<dyn Provider>);

#[async_trait]
impl Backend for Server {
    async fn write(&mut self, prompt: Prompt<'_>, sink: &mut dyn TextSink) -> ProviderResult<Completion> {
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
        let (mut usage, mut end) = (Usage::default(), EndReason::Complete);
        while let Some(event) = stream.next().await {
            match event? {
                ReplyEvent::Text(text) if sink.push(&text).await.is_break() => {
                    end = EndReason::Cancelled;
                    break;
                }
                ReplyEvent::Usage(so_far) => usage = so_far,
                ReplyEvent::Finished(StopReason::MaxTokens) => end = EndReason::TokenLimit,
                _ => {}
            }
        }
        Ok(Completion { end, usage })
    }
}
