//! [`Reading`]: the answer as it comes, byte by byte: a final answer's text is streamed, a call is announced by its name
//! and handed over when it is whole.

use goose_extension::JsonObject;
use goose_providers::{Arguments, ReplyEvent, ToolCall};
use serde_json::Value;

use super::{
    known::{EDIT, MAX_TEXT_CHARS, WRITE},
    offer::{FINAL_ANSWER, Offer, Offered, TEXT},
};

/// How every answer begins.
const START: &str = r#"{"tool":""#;

/// How much of a call that was cut is kept, in bytes.
const MAX_RAW_BYTES: usize = 4_096;

/// What has come of an answer.
pub(super) struct Reading<'a> {
    offer: &'a Offer,
    /// The call's id.
    id: String,
    raw: Vec<u8>,
    state: State,
}

enum State {
    /// The name of the tool is still to come.
    Naming,
    /// A final answer, whose text begins at this byte, once it has begun.
    Answering(Option<Text>),
    /// A call.
    Calling,
}

/// The final answer's text, of which some was handed out.
struct Text {
    /// Where to go on in the raw bytes.
    at: usize,
}

impl<'a> Reading<'a> {
    pub(super) fn new(offer: &'a Offer, id: String) -> Self {
        Self { offer, id, raw: Vec::new(), state: State::Naming }
    }

    /// Takes more bytes and gives what is new in them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<ReplyEvent> {
        self.raw.extend_from_slice(bytes);
        let mut events = Vec::new();
        if matches!(self.state, State::Naming) {
            events.extend(self.name());
        }
        if let State::Answering(text) = &mut self.state {
            events.extend(Text::go_on(text, &self.raw).map(ReplyEvent::Text));
        }
        events
    }

    fn name(&mut self) -> Option<ReplyEvent> {
        let rest = self.raw.strip_prefix(START.as_bytes())?;
        let end = rest.iter().position(|byte| *byte == b'"')?;
        let short = String::from_utf8_lossy(&rest[..end]).into_owned();
        if short == FINAL_ANSWER && self.offer.takes_text {
            self.state = State::Answering(None);
            return None;
        }
        self.state = State::Calling;
        let name = self.offer.by_short(&short).map(|tool| tool.name.clone())?;
        Some(ReplyEvent::CallStarted { id: self.id.clone(), name })
    }

    /// Whether it is clear what a call is about, as far as that matters.
    pub(super) fn is_decided(&self) -> bool {
        let changes = |tool: &Offered| matches!(tool.name.as_str(), EDIT | WRITE);
        !self.tool().is_some_and(changes) || self.changed_file().is_some()
    }

    /// The tool that is called.
    fn tool(&self) -> Option<&Offered> {
        let text = std::str::from_utf8(&self.raw).unwrap_or_default();
        let (short, _) = text.strip_prefix(START)?.split_once('"')?;
        self.offer.by_short(short)
    }

    /// Whether a new file is about to be written.
    pub(super) fn is_making(&self) -> bool {
        matches!(self.state, State::Calling) && self.tool().is_some_and(|tool| tool.name == WRITE)
    }

    /// The file that a change is about, also one that writes all of it, as soon as it is named.
    pub(super) fn changed_file(&self) -> Option<String> {
        if !matches!(self.state, State::Calling) {
            return None;
        }
        let text = String::from_utf8_lossy(&self.raw);
        let next = match self.tool()?.name.as_str() {
            EDIT => ",\"before\":",
            WRITE => ",\"content\":",
            _ => return None,
        };
        let (start, _) = text.split_once(next)?;
        let call: JsonObject = serde_json::from_str(&format!("{start}}}")).ok()?;
        call.get("path")?.as_str().map(|path| path.trim_start_matches("./").to_owned())
    }

    /// The call, where the answer is one. Nothing is made up: a call that is not whole is handed over as such, with the
    /// reason.
    pub(super) fn call(&self, why_cut: Option<&str>) -> Option<ToolCall> {
        if matches!(self.state, State::Answering(_)) {
            return None;
        }
        let id = self.id.clone();
        match (serde_json::from_slice::<Value>(&self.raw), why_cut) {
            (Ok(Value::Object(mut call)), None) => {
                let short = call.shift_remove("tool").and_then(|name| name.as_str().map(str::to_owned))?;
                let Some(tool) = self.offer.by_short(&short) else {
                    return self.malformed(&short, "there is no such tool");
                };
                if let Some(name) = full(tool, &call) {
                    let why = format!("`{name}` is too long, so nothing was done. Do it in smaller pieces");
                    return self.malformed(&short, &why);
                }
                let arguments = Arguments::Object(tool.completed(call));
                Some(ToolCall { id, name: tool.name.clone(), arguments, opaque: None })
            }
            (_, why) => self.malformed("", why.unwrap_or("it is not one JSON object")),
        }
    }

    fn malformed(&self, name: &str, why: &str) -> Option<ToolCall> {
        let text = String::from_utf8_lossy(&self.raw);
        let begun = text.strip_prefix(START).and_then(|rest| rest.split('"').next()).unwrap_or(name);
        let name = self.offer.by_short(begun).map_or(begun, |tool| &tool.name).to_owned();
        let raw: String = text.chars().take(MAX_RAW_BYTES / 4).collect();
        let arguments = Arguments::Malformed { raw, why: why.to_owned() };
        Some(ToolCall { id: self.id.clone(), name, arguments, opaque: None })
    }
}

/// The argument that was ended because it may not get longer: its rest would be lost.
fn full<'a>(tool: &Offered, call: &'a JsonObject) -> Option<&'a str> {
    let most = |name: &str| tool.schema.get("properties")?.get(name)?.get("maxLength")?.as_u64();
    let is_full =
        |name: &str, text: &str| text.chars().count() as u64 >= most(name).unwrap_or(MAX_TEXT_CHARS as u64);
    call.iter()
        .find_map(|(name, value)| value.as_str().filter(|text| is_full(name, text)).map(|_| name.as_str()))
}

impl Text {
    /// What is new and whole of the text: neither half a character nor half an escape.
    fn go_on(text: &mut Option<Self>, raw: &[u8]) -> Option<String> {
        let start = format!(r#"{START}{FINAL_ANSWER}","{TEXT}":""#);
        if text.is_none() && raw.len() >= start.len() {
            *text = Some(Self { at: start.len() });
        }
        let text = text.as_mut()?;
        let fresh = raw.get(text.at..)?;
        let whole = whole_part(fresh);
        text.at += whole;
        let quoted = [b"\"", &fresh[..whole], b"\""].concat();
        serde_json::from_slice::<String>(&quoted).ok().filter(|text| !text.is_empty())
    }
}

/// How many bytes from the beginning are whole characters and escapes, up to the closing quote.
fn whole_part(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'"' => break,
            b'\\' => match escape(&bytes[at..]) {
                Some(length) => length,
                None => break,
            },
            byte => character(byte),
        };
        if at + length > bytes.len() {
            break;
        }
        at += length;
    }
    at
}

/// How long an escape is; none where its end has not come. Surrogates come in pairs.
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'u' => {
            let code =
                std::str::from_utf8(bytes.get(2..6)?).ok().and_then(|hex| u16::from_str_radix(hex, 16).ok());
            let is_first_half = code.is_some_and(|code| (0xD800..0xDC00).contains(&code));
            Some(if is_first_half { 12 } else { 6 })
        }
        _ => Some(2),
    }
}

fn character(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

/// Text without a form, as it comes.
#[derive(Debug, Default)]
pub(super) struct FreeText {
    /// The beginning of a character whose rest is still to come.
    begun: Vec<u8>,
}

impl FreeText {
    /// The whole characters that there are now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<String> {
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Ok(_) => self.begun.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // No character at all: shown as such.
            Err(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.begun, rest)).into_owned();
        Some(text).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
