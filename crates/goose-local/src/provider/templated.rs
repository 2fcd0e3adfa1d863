//! [`TemplatedRequest`]: a request to a larger model that was trained to call tools. The prompt comes
//! from the template in the model's file, and no form restricts the answer.

use std::ops::ControlFlow;

use async_trait::async_trait;
use goose_engine::Text;
use goose_providers::{
    ModelInfo, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall, chat_request,
    parse_text_calls, plain_text_len,
};
use serde_json::Value;

use crate::backend::{EngineGuard, TextSink, sampling};

use super::{
    answer::{CALL_ID, max_tokens},
    events::EventSender,
};

/// Request in the form that templates take.
pub(super) struct TemplatedRequest {
    messages: Vec<Value>,
    tools: Vec<Value>,
    options: RequestOptions,
}

impl TemplatedRequest {
    pub(super) fn new(request: Request<'_>, model: &ModelInfo) -> Self {
        let options = request.options.clone();
        let mut body = chat_request(model, request);
        let mut list = |name: &str| body[name].as_array_mut().map(std::mem::take).unwrap_or_default();
        Self { messages: list("messages"), tools: list("tools"), options }
    }

    /// Writes the answer to `events`.
    pub(super) async fn answer(self, engine: &mut EngineGuard, events: &EventSender) -> ProviderResult<()> {
        engine.report_to(events.reporter());
        let prompt = goose_engine::Prompt {
            is_detached: false,
            text: Text::Messages(self.messages, self.tools),
            grammar: None,
            favoured: None,
            sampling: sampling(self.options.temperature.unwrap_or(0.0)),
            max_tokens: max_tokens(&self.options),
        };
        let mut sink = PlainText { text: String::new(), sent: 0, events };
        let completion = engine.generate(prompt, &mut sink).await?;
        let rest = &sink.text[sink.sent..];
        let calls = parse_text_calls(rest);
        if calls.is_empty() && !rest.is_empty() {
            let _ = events.send(ReplyEvent::Text(rest.to_owned())).await;
        }
        let stop = if calls.is_empty() { completion.stop_reason() } else { StopReason::ToolUse };
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            let id = format!("{CALL_ID}-{index}");
            events.send_call(ToolCall { id, name, arguments, opaque: None }).await;
        }
        let _ = events.send(ReplyEvent::Usage(completion.usage)).await;
        let _ = events.send(ReplyEvent::Finished(stop)).await;
        Ok(())
    }
}

/// Sends text as far as it cannot be the beginning of a call.
struct PlainText<'a> {
    text: String,
    /// Length of the text that was sent.
    sent: usize,
    events: &'a EventSender,
}

#[async_trait]
impl TextSink for PlainText<'_> {
    async fn push(&mut self, text: &str) -> ControlFlow<()> {
        self.text.push_str(text);
        let plain = plain_text_len(&self.text);
        if plain <= self.sent {
            return ControlFlow::Continue(());
        }
        let text = self.text[self.sent..plain].to_owned();
        self.sent = plain;
        self.events.send(ReplyEvent::Text(text)).await
    }
}
