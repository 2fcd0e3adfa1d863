//! The JSON of a request, written once from front to back: [`RequestBody`], descriptions of tools, and marks for
//! Claude's cache. The parts that change from turn to turn come last.

use std::sync::Arc;

use goose_extension::{JsonObject, Message, Role, Tool};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

use super::wire::Ask;

/// Initial capacity of a request.
const USUAL_BYTES: usize = 8 * 1024;

/// A request in the making: an object to which lists are added.
pub(super) struct RequestBody(Vec<u8>);

impl RequestBody {
    /// Begins with the fields of an object; at least one of them is not null.
    pub(super) fn new(head: Value) -> Self {
        Self::begin(&without_nulls(head))
    }

    /// Begins with the fields of an object, of which there is at least one.
    pub(super) fn begin(head: &impl Serialize) -> Self {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        write_json(&mut out, head);
        // The head goes on.
        out.pop();
        Self(out)
    }

    /// The same with a list; where nothing is in it, without.
    pub(super) fn list<T: Serialize>(self, name: &str, elements: impl IntoIterator<Item = T>) -> Self {
        let mut elements = elements.into_iter().peekable();
        if elements.peek().is_none() {
            return self;
        }
        self.written_list(name, |out| elements.for_each(|element| write_element(out, &element)))
    }

    /// The same with the tools of a request, as `write` writes each of them; where there are none, without.
    pub(super) fn tools(self, ask: &Ask<'_>, write: impl Fn(&Tool, &mut Vec<u8>)) -> Self {
        match ask.request.tools {
            [] => self,
            tools => self.written_list("tools", |out| ask.history.write_tools(tools, write, out)),
        }
    }

    /// The same with a list of what `write` writes: elements with a comma before each.
    pub(super) fn written_list(mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let out = &mut self.0;
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":[");
        let start = out.len();
        write(out);
        if out.get(start) == Some(&b',') {
            out.remove(start);
        }
        out.push(b']');
        self
    }

    /// The whole of it.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Removes the fields of an object that are null: empty fields are not sent.
pub(super) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// Appends an element of a list, with the comma before it.
pub(super) fn write_element(out: &mut Vec<u8>, value: &impl Serialize) {
    out.push(b',');
    write_json(out, value);
}

/// Nothing that is written here can fail to be JSON; if it did, it would be `null`.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Marked messages of the user: the last one, and the one that was last in the previous request.
const MARKED_MESSAGES: usize = 2;

const MARK: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// Length of the end of a message that can be marked: of its last block, its content and itself.
const MESSAGE_END: usize = "}]}".len();

/// The same mark, for what is written together with it.
pub(super) fn cache_mark() -> Value {
    json!({ "type": "ephemeral" })
}

/// Conversations as they were written: where the first message begins, and where each of them ends.
pub(super) struct Places<'a> {
    pub(super) messages: &'a [Arc<Message>],
    pub(super) start: usize,
    pub(super) ends: &'a [usize],
}

/// Marks the last block of the last messages of the user that can be marked, last one first, so that the places before
/// stay where they are.
pub(super) fn mark(places: &Places<'_>, can_be_marked: impl Fn(&[u8]) -> bool, out: &mut Vec<u8>) {
    let Places { messages, start, ends } = *places;
    let begin_of = |at: usize| at.checked_sub(1).and_then(|at| ends.get(at)).copied().unwrap_or(start);
    let is_fit =
        |begin: usize, end: usize| out.get(begin..end).is_some_and(|it| !it.is_empty() && can_be_marked(it));
    let marked: Vec<usize> = (0..messages.len())
        .rev()
        .filter(|at| messages.get(*at).is_some_and(|message| message.role == Role::User))
        .filter_map(|at| ends.get(at).copied().filter(|end| is_fit(begin_of(at), *end)))
        .take(MARKED_MESSAGES)
        .collect();
    for end in marked {
        let at = end.saturating_sub(MESSAGE_END);
        out.splice(at..at, MARK.iter().copied());
    }
}

/// Keys at the top of a schema that tell a model nothing.
const IDLE_KEYS: [&str; 3] = ["$schema", "title", "$id"];

/// A schema to be written.
pub(super) struct Schema<'a>(pub(super) &'a JsonObject);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.0.contains_key("type") {
            map.serialize_entry("type", "object")?;
        }
        for (key, value) in self.0.iter().filter(|(key, _)| !IDLE_KEYS.contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        if !self.0.contains_key("properties") {
            map.serialize_entry("properties", &Value::Object(Map::new()))?;
        }
        map.end()
    }
}

/// A tool as OpenAI chat and Ollama describe it.
#[derive(Serialize)]
pub(super) struct ToolEntry<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

/// The tool itself.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Schema<'a>,
}

impl<'a> From<&'a Tool> for Function<'a> {
    fn from(tool: &'a Tool) -> Self {
        let parameters = Schema(tool.input_schema());
        Self { name: tool.name(), description: tool.description(), parameters }
    }
}

impl<'a> From<&'a Tool> for ToolEntry<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { r#type: "function", function: tool.into() }
    }
}
