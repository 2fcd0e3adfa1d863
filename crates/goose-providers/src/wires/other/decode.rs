//! The library's events, put together under our own caps.

use genai::chat::{ChatStreamEvent, StopReason as TheirStop, ToolCall as TheirCall, Usage as TheirUsage};
use goose_extension::{Opaque, Reasoning};
use serde_json::{Value, json};

use super::{
    super::assembly::{Assembly, too_much},
    Style,
};
use crate::{
    error::ProviderResult,
    reply::{ReplyEvent, StopReason},
    usage::Usage,
};

/// How many bytes of arguments the library may tell again. It does so for each piece, so many small pieces cost more
/// than they hold; a call of a quarter of a megabyte in pieces of twenty bytes is within it.
const MAX_RETOLD_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// How many signatures of thoughts one answer may have.
const MAX_SIGNATURES: usize = 256;

/// An answer in the making.
pub(super) struct Decoding {
    style: Style,
    assembly: Assembly,
    /// What it thinks, until that is complete.
    thinking: String,
    /// Signatures that belong to what comes next.
    signatures: Vec<String>,
    seen_signatures: usize,
    /// The call whose arguments are still growing.
    open: Option<OpenCall>,
    retold_bytes: u64,
}

/// A call as the library tells it: again and again, with all of its arguments so far.
struct OpenCall {
    their_id: String,
    call: usize,
}

impl Decoding {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            assembly: Assembly::new(),
            thinking: String::new(),
            signatures: Vec::new(),
            seen_signatures: 0,
            open: None,
            retold_bytes: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<ReplyEvent> {
        self.assembly.next()
    }

    pub(super) fn is_done(&self) -> bool {
        self.assembly.is_done()
    }

    pub(super) fn take(&mut self, event: ChatStreamEvent) -> ProviderResult<()> {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.end_call();
                self.end_thought()?;
                self.assembly.text(&chunk.content)
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                if self.style != Style::Gemini && !self.signatures.is_empty() {
                    self.end_thought()?;
                }
                self.assembly.show_thinking(&chunk.content)?;
                self.thinking.push_str(&chunk.content);
                Ok(())
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => self.signature(chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call),
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::End(_) => Ok(()),
        }
    }

    fn signature(&mut self, signature: String) -> ProviderResult<()> {
        self.seen_signatures += 1;
        if self.seen_signatures > MAX_SIGNATURES {
            return Err(too_much(&format!("it has more than {MAX_SIGNATURES} signatures")));
        }
        match (self.style, self.signatures.last_mut()) {
            (Style::Claude { .. }, Some(begun)) => begun.push_str(&signature),
            _ => self.signatures.push(signature),
        }
        Ok(())
    }

    /// What was thought is complete, with what signs it.
    fn end_thought(&mut self) -> ProviderResult<()> {
        let text = std::mem::take(&mut self.thinking);
        let signatures = std::mem::take(&mut self.signatures);
        self.assembly.thought(Reasoning { text, opaque: self.opaque(signatures) })
    }

    fn opaque(&self, signatures: Vec<String>) -> Option<Opaque> {
        (!signatures.is_empty())
            .then(|| Opaque { wire: self.style.wire().to_owned(), data: json!(signatures) })
    }

    fn call(&mut self, call: TheirCall) -> ProviderResult<()> {
        // What comes as text grows; what comes as a value is complete, and a call of its own.
        let Value::String(arguments) = call.fn_arguments else { return self.whole_call(call) };
        self.retold_bytes = self.retold_bytes.saturating_add(arguments.len() as u64);
        if self.retold_bytes > MAX_RETOLD_BYTES {
            return Err(too_much("the arguments come in too many pieces"));
        }
        let number = match self.open.as_ref().filter(|open| open.their_id == call.call_id) {
            Some(open) => open.call,
            None => self.begin_call(call.call_id, &call.fn_name)?,
        };
        // What is more than may be kept is not kept here either.
        self.assembly.set_arguments(number, &arguments);
        Ok(())
    }

    fn begin_call(&mut self, their_id: String, name: &str) -> ProviderResult<usize> {
        self.end_call();
        self.end_thought()?;
        let call = self.assembly.begin_call(&their_id, name)?;
        self.open = Some(OpenCall { their_id, call });
        Ok(call)
    }

    fn whole_call(&mut self, call: TheirCall) -> ProviderResult<()> {
        let signatures = call.thought_signatures.unwrap_or_default();
        self.signatures.retain(|signature| !signatures.contains(signature));
        self.end_call();
        self.end_thought()?;
        let number = self.assembly.begin_call(own_id(&call.call_id), &call.fn_name)?;
        if let Some(opaque) = self.opaque(signatures) {
            self.assembly.attach(number, opaque)?;
        }
        // No arguments at all are `null` here.
        if !call.fn_arguments.is_null() {
            self.assembly.set_arguments(number, &call.fn_arguments.to_string());
        }
        self.assembly.end_call(number);
        Ok(())
    }

    fn end_call(&mut self) {
        if let Some(open) = self.open.take() {
            self.assembly.end_call(open.call);
        }
    }

    /// Nothing more follows.
    pub(super) fn end(&mut self, reason: TheirStop, usage: Option<&TheirUsage>) -> ProviderResult<()> {
        self.end_call();
        self.end_thought()?;
        if let Some(usage) = usage {
            self.assembly.usage(own_usage(usage));
        }
        self.assembly.stop(own_stop(reason));
        self.assembly.done();
        Ok(())
    }
}

/// Ids that the library made up (`call#name#0`) come again in each answer.
fn own_id(id: &str) -> &str {
    if id.starts_with("call#") { "" } else { id }
}

fn own_usage(usage: &TheirUsage) -> Usage {
    let count = |number: Option<i32>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    Usage {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cached_input: count(details.and_then(|details| details.cached_tokens)),
        cache_write: count(details.and_then(|details| details.cache_creation_tokens)),
    }
}

fn own_stop(reason: TheirStop) -> StopReason {
    match reason {
        TheirStop::Completed(_) | TheirStop::StopSequence(_) => StopReason::EndTurn,
        TheirStop::ToolCall(_) => StopReason::ToolUse,
        TheirStop::MaxTokens(_) => StopReason::MaxTokens,
        TheirStop::ContentFilter(_) => StopReason::Refused,
        TheirStop::Other(words) if is_refusal(&words) => StopReason::Refused,
        TheirStop::Other(words) => StopReason::Other(words.chars().take(100).collect()),
    }
}

/// Amazon's words for it.
fn is_refusal(words: &str) -> bool {
    matches!(words, "guardrail_intervened" | "content_filtered")
}
