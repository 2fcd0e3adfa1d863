//! [`TemplatedRequest`]: a request to a larger model that was made to call tools. It is asked as its file's own template says, without the
//! restrictions that help small ones.

use std::{ops::ControlFlow, sync::Arc};

use goose_engine::Text;
use goose_providers::{
    ModelInfo, ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall, chat_request,
};
use serde_json::Value;

use crate::backend::{EngineGuard, sampling};

use super::{
    answer::{CALL_ID, Events, max_tokens, send_call},
    text_calls,
};

/// A request, as the template takes it.
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

    pub(super) async fn answer(self, engine: &mut EngineGuard, events: &Events) -> ProviderResult<()> {
        let send = |event: ReplyEvent| drop(events.try_send(Ok(event)));
        let reporting = events.clone();
        engine.report_to(Arc::new(move |status| drop(reporting.try_send(Ok(ReplyEvent::Status(status))))));
        let (mut text, mut sent) = (String::new(), 0);
        let mut read = |more: &str| {
            text.push_str(more);
            let plain = text_calls::plain_len(&text).max(sent);
            if plain > sent {
                send(ReplyEvent::Text(text[sent..plain].to_owned()));
            }
            sent = plain;
            ControlFlow::Continue(())
        };
        let prompt = goose_engine::Prompt {
            is_detached: false,
            text: Text::Messages(self.messages, self.tools),
            grammar: None,
            favoured: None,
            sampling: sampling(self.options.temperature.unwrap_or(0.0)),
            max_tokens: max_tokens(&self.options),
        };
        let written = engine.generate(prompt, &mut read).await?;
        let calls = text_calls::parse(&text[sent..]);
        if calls.is_empty() && sent < text.len() {
            send(ReplyEvent::Text(text[sent..].to_owned()));
        }
        let stop = if calls.is_empty() { written.stop_reason() } else { StopReason::ToolUse };
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            let id = format!("{CALL_ID}-{index}");
            send_call(ToolCall { id, name, arguments, opaque: None }, &send);
        }
        send(ReplyEvent::Usage(written.usage));
        send(ReplyEvent::Finished(stop));
        Ok(())
    }
}
