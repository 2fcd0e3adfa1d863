//! [`Assembly`]: the pieces of an answer, as the decoders find them, become [`ReplyEvent`]s under caps.
//!
//! It makes ids unique, joins arguments in linear time, judges them, and ends each answer in the same way.

use std::collections::VecDeque;

use goose_extension::{Opaque, Reasoning, adapter::json_kind};
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    failure,
    reply::{Arguments, ReplyEvent, StopReason, ToolCall, Usage},
    wires::names::TakenIds,
};

/// Most calls of an answer.
const MAX_CALLS: usize = 128;

/// Largest arguments of a call. The rest is counted, not kept.
const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;

/// Longest part of malformed arguments that is kept.
const MAX_RAW_BYTES: usize = 8 * 1024;

/// The problem of a call that the length limit has cut off.
const CUT_BEFORE_ARGUMENTS: &str = "the answer was cut off at its length limit before the arguments came";

/// Most text of an answer, and most data that a service may want back.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;
const MAX_OPAQUE_BYTES: usize = 4 * 1024 * 1024;

/// An answer in the making.
pub(super) struct Assembly {
    /// The service that answers, for its errors.
    endpoint: Endpoint,
    ready: VecDeque<ReplyEvent>,
    taken: TakenIds,
    calls: Vec<Call>,
    /// The last call, where it has ended without arguments: only the end of the answer tells whether that is all.
    bare: Option<usize>,
    /// Thinking that has no end of its own on the wire: it ends where something else begins.
    thinking: Reasoning,
    text_bytes: usize,
    opaque_bytes: usize,
    stop: Option<StopReason>,
    is_done: bool,
}

/// A call that has begun. Decoders hold its number.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
    argument_bytes: usize,
    opaque: Option<Opaque>,
    has_ended: bool,
}

impl Assembly {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            ready: VecDeque::new(),
            taken: TakenIds::default(),
            calls: Vec::new(),
            bare: None,
            thinking: Reasoning::default(),
            text_bytes: 0,
            opaque_bytes: 0,
            stop: None,
            is_done: false,
        }
    }

    /// Returns the error that the service reports instead of the answer, or in the middle of it.
    pub(super) fn failure(&self, error: &Value) -> ProviderError {
        failure::from_value(&self.endpoint, error)
    }

    /// Fails where an answer, or an event of it, is an error: `{"error": …}`.
    pub(super) fn fail_on_error(&self, value: &Value) -> ProviderResult<()> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        failure::error_in(value).map_or(Ok(()), |error| Err(self.failure(error)))
    }

    /// The next event, where one is complete.
    pub(super) fn next(&mut self) -> Option<ReplyEvent> {
        self.ready.pop_front()
    }

    /// Returns whether the answer is complete.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns whether the service has given a stop reason.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn text(&mut self, text: &str) -> ProviderResult<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin_other();
        self.count_text(text)?;
        self.ready.push_back(ReplyEvent::Text(text.to_owned()));
        Ok(())
    }

    /// Thinking to be shown; the decoder itself says when it is complete, with [`thought`](Self::thought).
    pub(super) fn show_thinking(&mut self, text: &str) -> ProviderResult<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.pass_bare();
        self.count_text(text)?;
        self.ready.push_back(ReplyEvent::Thinking(text.to_owned()));
        Ok(())
    }

    /// Thinking without an end of its own.
    pub(super) fn think(
        &mut self,
        text: &str,
        opaque: impl FnOnce() -> Option<Opaque>,
    ) -> ProviderResult<()> {
        self.show_thinking(text)?;
        if self.thinking.opaque.is_none() && !text.is_empty() {
            self.thinking.opaque = opaque();
        }
        self.thinking.text.push_str(text);
        Ok(())
    }

    /// Changes what the service wants to see again with the thinking that is being said; `bytes` are added to it.
    pub(super) fn annotate_thought(
        &mut self,
        bytes: usize,
        change: impl FnOnce(&mut Option<Opaque>),
    ) -> ProviderResult<()> {
        change(&mut self.thinking.opaque);
        self.count_opaque(bytes)
    }

    /// A block of thinking is complete.
    pub(super) fn thought(&mut self, thought: Reasoning) -> ProviderResult<()> {
        if let Some(opaque) = &thought.opaque {
            self.count_opaque(opaque.data.to_string().len())?;
        }
        if !thought.text.is_empty() || thought.opaque.is_some() {
            self.pass_bare();
            self.ready.push_back(ReplyEvent::Thought(thought));
        }
        Ok(())
    }

    /// A call begins; its name may still be missing.
    pub(super) fn begin_call(&mut self, id: &str, name: &str) -> ProviderResult<usize> {
        if self.calls.len() >= MAX_CALLS {
            return Err(too_much(&format!("the model asks for more than {MAX_CALLS} tools at once")));
        }
        self.begin_other();
        let call = self.calls.len();
        self.calls.push(Call { id: self.taken.claim(id), ..Call::default() });
        self.name_call(call, name);
        Ok(call)
    }

    /// The name comes; once it is there, it stays.
    pub(super) fn name_call(&mut self, call: usize, name: &str) {
        let Some(call) = self.calls.get_mut(call) else { return };
        if call.name.is_empty() && !call.has_ended && !name.is_empty() {
            name.clone_into(&mut call.name);
            self.ready.push_back(ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() });
        }
    }

    /// More of the arguments.
    pub(super) fn add_arguments(&mut self, call: usize, more: &str) {
        let Some(call) = self.calls.get_mut(call) else { return };
        call.argument_bytes = call.argument_bytes.saturating_add(more.len());
        let room = MAX_ARGUMENT_BYTES.saturating_sub(call.arguments.len());
        call.arguments.push_str(more.get(..more.floor_char_boundary(room)).unwrap_or_default());
    }

    /// All arguments at once, in place of what came before.
    pub(super) fn set_arguments(&mut self, call: usize, all: &str) {
        if let Some(call) = self.calls.get_mut(call) {
            call.arguments.clear();
            call.argument_bytes = 0;
        }
        self.add_arguments(call, all);
    }

    /// Returns whether any arguments have come.
    pub(super) fn has_arguments(&self, call: usize) -> bool {
        self.calls.get(call).is_some_and(|call| call.argument_bytes > 0)
    }

    /// Stores data that the service needs back with the call.
    pub(super) fn attach(&mut self, call: usize, opaque: Opaque) -> ProviderResult<()> {
        self.count_opaque(opaque.data.to_string().len())?;
        if let Some(call) = self.calls.get_mut(call) {
            call.opaque = Some(opaque);
        }
        Ok(())
    }

    /// The call is complete.
    pub(super) fn end_call(&mut self, call: usize) {
        let is_last = call + 1 == self.calls.len();
        if is_last && !self.has_arguments(call) && !self.is_done {
            self.bare = Some(call);
        } else {
            self.pass_on(call);
        }
    }

    fn pass_on(&mut self, call: usize) {
        let is_cut = self.is_cut(call);
        let Some(call) = self.calls.get_mut(call) else { return };
        if std::mem::replace(&mut call.has_ended, true) {
            return;
        }
        let arguments = match is_cut {
            true => malformed(String::new(), CUT_BEFORE_ARGUMENTS.to_owned()),
            false => judge(std::mem::take(&mut call.arguments), call.argument_bytes),
        };
        self.ready.push_back(ReplyEvent::Call(ToolCall {
            id: std::mem::take(&mut call.id),
            name: std::mem::take(&mut call.name),
            arguments,
            opaque: call.opaque.take(),
        }));
    }

    /// Returns whether the answer was cut at its length before the first byte of the call's arguments. Run without
    /// them, it could do something else than was meant.
    fn is_cut(&self, call: usize) -> bool {
        let is_last = call + 1 == self.calls.len();
        self.is_done && is_last && self.stop == Some(StopReason::MaxTokens) && !self.has_arguments(call)
    }

    pub(super) fn usage(&mut self, usage: Usage) {
        self.ready.push_back(ReplyEvent::Usage(usage));
    }

    /// The service says why it stopped; more may follow.
    pub(super) fn stop(&mut self, stop: StopReason) {
        // A refusal that was seen in the text is not undone by a plain end.
        if self.stop != Some(StopReason::Refused) {
            self.stop = Some(stop);
        }
    }

    /// Nothing more follows.
    pub(super) fn done(&mut self) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        self.end_thinking();
        for call in 0..self.calls.len() {
            self.end_call(call);
        }
        let stop = match self.stop.take().unwrap_or(StopReason::EndTurn) {
            StopReason::EndTurn if !self.calls.is_empty() => StopReason::ToolUse,
            StopReason::ToolUse if self.calls.is_empty() => StopReason::EndTurn,
            stop => stop,
        };
        self.ready.push_back(ReplyEvent::Finished(stop));
    }

    /// Something else begins: what was waiting for its end has come to it.
    fn begin_other(&mut self) {
        self.pass_bare();
        self.end_thinking();
    }

    fn pass_bare(&mut self) {
        if let Some(call) = self.bare.take() {
            self.pass_on(call);
        }
    }

    /// Ends the thinking that has no end of its own, if there is any.
    pub(super) fn end_thinking(&mut self) {
        let thought = std::mem::take(&mut self.thinking);
        if !thought.text.is_empty() || thought.opaque.is_some() {
            self.ready.push_back(ReplyEvent::Thought(thought));
        }
    }

    fn count_text(&mut self, text: &str) -> ProviderResult<()> {
        self.text_bytes = self.text_bytes.saturating_add(text.len());
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(too_much(&format!("it has more than {} MiB of text", MAX_TEXT_BYTES >> 20)));
        }
        Ok(())
    }

    fn count_opaque(&mut self, bytes: usize) -> ProviderResult<()> {
        self.opaque_bytes = self.opaque_bytes.saturating_add(bytes);
        if self.opaque_bytes > MAX_OPAQUE_BYTES {
            return Err(too_much(&format!(
                "it has more than {} MiB of hidden thinking",
                MAX_OPAQUE_BYTES >> 20
            )));
        }
        Ok(())
    }
}

/// Returns the error for an answer beyond a limit.
pub(super) fn too_much(what: &str) -> ProviderError {
    ProviderError::Protocol { message: what.to_owned() }
}

/// Parses arguments. No arguments at all are an empty object.
fn judge(raw: String, bytes: usize) -> Arguments {
    if bytes > MAX_ARGUMENT_BYTES {
        let why = format!("the arguments have {bytes} bytes, at most {MAX_ARGUMENT_BYTES} are allowed");
        return malformed(raw, why);
    }
    if raw.trim().is_empty() {
        return Arguments::Object(serde_json::Map::new());
    }
    match serde_json::from_str(&raw) {
        Ok(Value::Object(object)) => Arguments::Object(object),
        Ok(other) => malformed(raw, format!("the arguments are {}, not a JSON object", json_kind(&other))),
        Err(error) if error.is_eof() => malformed(raw, format!("the arguments are cut off: {error}")),
        Err(error) => malformed(raw, format!("the arguments are not valid JSON: {error}")),
    }
}

fn malformed(mut raw: String, why: String) -> Arguments {
    if raw.len() > MAX_RAW_BYTES {
        raw.truncate(raw.floor_char_boundary(MAX_RAW_BYTES));
        raw.push('…');
    }
    Arguments::Malformed { raw, why }
}
