//! [`Templated`]: a request to a larger model that was made to call tools. It is asked as its file's own template says, without the
//! restrictions that help small ones.

use std::{ops::ControlFlow, sync::Arc};

use goose_engine::Text;
use goose_extension::{Message, MessageContent, Role};
use goose_providers::{ProviderResult, ReplyEvent, Request, RequestOptions, StopReason, ToolCall};
use serde_json::{Value, json};

use super::{
    answer::{Events, max_tokens, stop_reason},
    called,
    engine::EngineGuard,
};

/// A request, as the template takes it.
pub(super) struct Templated {
    id: String,
    messages: Vec<Value>,
    tools: Vec<Value>,
    options: RequestOptions,
}

impl Templated {
    pub(super) fn new(request: Request<'_>, id: String) -> Self {
        let tool = |tool: &goose_extension::Tool| {
            let (name, description) = (tool.name(), tool.description());
            let function =
                json!({ "name": name, "description": description, "parameters": tool.input_schema() });
            json!({ "type": "function", "function": function })
        };
        let system = json!({ "role": "system", "content": request.system });
        let messages = request.messages.iter().flat_map(|message| messages(message));
        Self {
            id,
            messages: std::iter::once(system).chain(messages).collect(),
            tools: request.tools.iter().map(tool).collect(),
            options: request.options.clone(),
        }
    }

    pub(super) async fn answer(self, engine: &mut EngineGuard, events: &Events) -> ProviderResult<()> {
        let send = |event: ReplyEvent| drop(events.try_send(Ok(event)));
        let reporting = events.clone();
        engine.report_to(Arc::new(move |status| drop(reporting.try_send(Ok(ReplyEvent::Status(status))))));
        let (mut text, mut sent) = (String::new(), 0);
        let mut read = |more: &str| {
            text.push_str(more);
            let plain = called::plain(&text).max(sent);
            if plain > sent {
                send(ReplyEvent::Text(text[sent..plain].to_owned()));
            }
            sent = plain;
            ControlFlow::Continue(())
        };
        let prompt = goose_engine::Prompt {
            is_apart: false,
            text: Text::Messages(self.messages, self.tools),
            grammar: None,
            favoured: None,
            sampling: super::engine::sampling(self.options.temperature.unwrap_or(0.0)),
            max_tokens: max_tokens(&self.options),
        };
        let written = engine.generate(prompt, &mut read).await?;
        let calls = called::calls(&text[sent..]);
        if calls.is_empty() && sent < text.len() {
            send(ReplyEvent::Text(text[sent..].to_owned()));
        }
        let stop = if calls.is_empty() { stop_reason(&written) } else { StopReason::ToolUse };
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            let id = format!("{}-{index}", self.id);
            send(ReplyEvent::CallStarted { id: id.clone(), name: name.clone() });
            send(ReplyEvent::Call(ToolCall { id, name, arguments, opaque: None }));
        }
        send(ReplyEvent::Usage(written.usage));
        send(ReplyEvent::Finished(stop));
        Ok(())
    }
}

/// A message, with its calls; the results in it are messages of their own.
fn messages(message: &Message) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let (mut texts, mut calls): (Vec<&str>, Vec<Value>) = (Vec::new(), Vec::new());
    for part in &message.content {
        match part {
            MessageContent::ToolCall { name, arguments, .. } => {
                calls.push(
                    json!({ "type": "function", "function": { "name": name, "arguments": arguments } }),
                );
            }
            MessageContent::ToolResult { output, .. } => {
                all.push(json!({ "role": "tool", "content": output.as_text() }));
            }
            other => texts.extend(other.as_text()),
        }
    }
    if !texts.is_empty() || !calls.is_empty() {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let mut own = json!({ "role": role, "content": texts.join("\n") });
        if !calls.is_empty() {
            own["tool_calls"] = calls.into();
        }
        all.push(own);
    }
    all
}
