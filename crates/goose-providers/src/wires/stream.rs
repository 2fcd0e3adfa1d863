//! An answer as it comes: bytes in, [`ReplyEvent`]s out. It ends with `Finished` or with an error, never with neither.
//!
//! Not everybody who is asked for a stream of events sends one: a whole answer as JSON is taken too, and a web page is
//! told apart from both.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    assembly::{Assembly, too_much},
    framing::{BadEvent, EventReader, Framing, MAX_EVENT_BYTES, StreamEvent},
};
use crate::{
    error::{ProviderError, ProviderResult},
    failure,
    http::Body,
    reply::{ReplyEvent, ReplyStream, StopReason},
};

/// Largest answer on the wire.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Time limit for what follows the stop reason: usage, and the end of the stream.
const TRAILER_TIMEOUT: Duration = Duration::from_secs(3);

/// Longest part of an unreadable answer that is shown.
const SHOWN_CHARS: usize = 200;

/// Reads the events of a wire.
pub(super) trait Decoder: Default + Send {
    /// The form of the wire's answers.
    const FRAMING: Framing = Framing::Sse;

    /// Takes an event.
    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()>;

    /// Takes an answer that came as one JSON object. Where each line is an event, that is an event too.
    fn whole(&mut self, _answer: Value, _reply: &mut Assembly) -> ProviderResult<()> {
        Err(not_events())
    }
}

/// The answer in `body`.
pub(super) fn read_reply<D: Decoder + 'static>(body: Body) -> ReplyStream {
    let reading = Reading {
        assembly: Assembly::new(body.endpoint().clone()),
        body,
        decoder: D::default(),
        form: Form::Unknown,
        taken: 0,
        trailer_deadline: None,
        ended: false,
    };
    Box::pin(futures::stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        Some((item, reading))
    }))
}

struct Reading<D> {
    body: Body,
    decoder: D,
    assembly: Assembly,
    form: Form,
    taken: usize,
    /// Until when the end of an answer that is complete is waited for.
    trailer_deadline: Option<Instant>,
    ended: bool,
}

/// The form of an answer; its first byte tells.
enum Form {
    Unknown,
    Events(EventReader),
    Json(Vec<u8>),
}

impl<D: Decoder> Reading<D> {
    async fn next(&mut self) -> Option<ProviderResult<ReplyEvent>> {
        loop {
            if let Some(event) = self.assembly.next() {
                self.trailer_deadline = None;
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            if self.assembly.is_done() {
                self.ended = true;
                self.body.drain().await;
                return None;
            }
            if let Err(error) = self.read().await {
                self.ended = true;
                return Some(Err(self.presentable(error)));
            }
        }
    }

    async fn read(&mut self) -> ProviderResult<()> {
        let chunk = match self.assembly.has_stopped() {
            true => self.last_chunk().await,
            false => Some(self.body.chunk().await?),
        };
        match chunk {
            Some(Some(chunk)) => self.take(chunk),
            Some(None) => self.finish(),
            None => {
                self.assembly.done();
                Ok(())
            }
        }
    }

    /// Reads what may follow the stop reason. Nothing of it is needed: where it does not come in time, or the
    /// connection breaks, the answer is complete all the same.
    async fn last_chunk(&mut self) -> Option<Option<Bytes>> {
        let until = *self.trailer_deadline.get_or_insert_with(|| Instant::now() + TRAILER_TIMEOUT);
        tokio::time::timeout_at(until, self.body.chunk()).await.ok()?.ok()
    }

    fn take(&mut self, chunk: Bytes) -> ProviderResult<()> {
        self.taken = self.taken.saturating_add(chunk.len());
        if self.taken > MAX_ANSWER_BYTES {
            return Err(too_much(&format!("it is larger than {} MiB", MAX_ANSWER_BYTES >> 20)));
        }
        if matches!(self.form, Form::Unknown) {
            self.form = form_of(&chunk, D::FRAMING)?;
        }
        match &mut self.form {
            // Some services send empty lines until a whole answer is ready.
            Form::Unknown => {
                self.body.note_life();
                Ok(())
            }
            Form::Json(text) if text.len() + chunk.len() > MAX_EVENT_BYTES => Err(event_too_large()),
            Form::Json(text) => {
                text.extend_from_slice(&chunk);
                Ok(())
            }
            Form::Events(reader) => {
                let mut events = VecDeque::new();
                let read = reader.push(&chunk, &mut events);
                if reader.took_keep_alive() || !events.is_empty() {
                    self.body.note_life();
                }
                self.decode(events)?;
                // What came before a bad event may have ended the answer.
                match read {
                    Err(BadEvent::TooLarge) if !self.assembly.is_done() => Err(event_too_large()),
                    Err(BadEvent::Malformed) if !self.assembly.is_done() => Err(not_events()),
                    _ => Ok(()),
                }
            }
        }
    }

    fn decode(&mut self, events: VecDeque<StreamEvent>) -> ProviderResult<()> {
        for event in events {
            if self.assembly.is_done() {
                break;
            }
            self.decoder.event(&event, &mut self.assembly)?;
        }
        Ok(())
    }

    /// The body has ended. That is only right where the service has said why it stopped.
    fn finish(&mut self) -> ProviderResult<()> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => Err(self.body.cut()),
            Form::Json(text) => self.finish_json(&text),
            Form::Events(mut reader) => {
                let mut events = VecDeque::new();
                reader.finish(&mut events);
                if !reader.saw_field() {
                    return Err(not_events());
                }
                self.finish_events(events)
            }
        }
    }

    fn finish_events(&mut self, events: VecDeque<StreamEvent>) -> ProviderResult<()> {
        // Half an event does not count.
        match self.decode(events) {
            Err(ProviderError::Protocol { .. }) => {}
            other => other?,
        }
        if self.assembly.has_stopped() {
            self.assembly.done();
        }
        if self.assembly.is_done() { Ok(()) } else { Err(self.body.cut()) }
    }

    fn finish_json(&mut self, text: &[u8]) -> ProviderResult<()> {
        let answer: Value = match serde_json::from_slice(text) {
            Ok(answer) => answer,
            Err(error) if error.is_eof() => return Err(self.body.cut()),
            Err(error) => return Err(unreadable(&error, &String::from_utf8_lossy(text))),
        };
        self.assembly.fail_on_error(&answer)?;
        self.decoder.whole(answer, &mut self.assembly)?;
        self.assembly.done();
        Ok(())
    }

    /// Removes secrets: an unreadable answer is shown in part, and could contain anything.
    fn presentable(&self, error: ProviderError) -> ProviderError {
        match error {
            ProviderError::Protocol { message } => {
                ProviderError::Protocol { message: failure::without_secrets(self.body.endpoint(), &message) }
            }
            error => error,
        }
    }
}

/// A whole answer as its wire knows it, which is told by a field that it must hold.
pub(super) fn whole<T: DeserializeOwned>(answer: Value, field: &str) -> ProviderResult<T> {
    if answer.get(field).is_none() {
        return Err(ProviderError::Protocol { message: format!("`{field}` is missing") });
    }
    T::deserialize(&answer).map_err(|error| unreadable(&error, &answer.to_string()))
}

impl StreamEvent {
    /// Reads the payload.
    pub(super) fn json<T: DeserializeOwned>(&self) -> ProviderResult<T> {
        let data = self.data.trim();
        serde_json::from_str(data).map_err(|error| unreadable(&error, data))
    }
}

/// An event, or an answer, that is not what the protocol says.
pub(super) fn unreadable(error: &serde_json::Error, text: &str) -> ProviderError {
    let shown: String = failure::clean(text).chars().take(SHOWN_CHARS).collect();
    ProviderError::Protocol { message: format!("{error} in `{shown}`") }
}

fn form_of(chunk: &[u8], framing: Framing) -> ProviderResult<Form> {
    match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Ok(Form::Unknown),
        Some(b'{' | b'[') if framing == Framing::Lines => Ok(Form::Events(EventReader::new(framing))),
        Some(b'{' | b'[') => Ok(Form::Json(Vec::new())),
        Some(b'<') => {
            Err(ProviderError::Protocol { message: "it is a web page, not an answer of a model".to_owned() })
        }
        Some(_) if framing == Framing::Frames => Ok(Form::Events(EventReader::new(framing))),
        Some(_) => Ok(Form::Events(EventReader::new(Framing::Sse))),
    }
}

/// Returns the reason to stop that a word stands for. The services' words do not contradict each other.
pub(super) fn stop_reason(word: &str) -> StopReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "stop_sequence" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "refusal"
        | "safety"
        | "image_safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii" => StopReason::Refused,
        _ => StopReason::Other(failure::clean(word)),
    }
}

/// Returns the text at a place of an answer; empty if there is none.
pub(super) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn not_events() -> ProviderError {
    ProviderError::Protocol { message: "it is neither a stream of events nor JSON".to_owned() }
}

fn event_too_large() -> ProviderError {
    too_much(&format!("one event is larger than {} MiB", MAX_EVENT_BYTES >> 20))
}
