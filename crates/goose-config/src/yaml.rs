//! YAML: reads all files with the same options, and with errors that users understand.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range, path::Path};

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor, value::StrDeserializer,
};
use serde_json::Value;
use serde_saphyr::{
    Error, Location, MessageFormatter, NonFiniteFloatPolicy, UserMessageFormatter,
    granit_parser::{self, Event, Parser, ScalarStyle, Span},
    localizer::Localizer,
    with_deserializer_from_str_with_options,
};

use crate::{ConfigError, Place};

/// Reads a whole document with a seed.
pub(crate) fn read<T, S>(text: &str, seed: S) -> Result<T, Error>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    // Snippets would copy values of the file, which can be secrets, into messages.
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
    };
    with_deserializer_from_str_with_options(text, options, |deserializer| seed.deserialize(deserializer))
}

/// Reads a document of any shape. `path` is for errors.
pub fn read_yaml(path: &Path, text: &str) -> Result<Value, ConfigError> {
    read(text, PhantomData::<Value>).map_err(|error| malformed(path, &error))
}

/// Reads a document as a type. Scalars keep their spelling where the type wants text: `1.50` is `"1.50"`.
/// `path` is for errors.
pub fn read_yaml_as<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    read(text, PhantomData::<T>).map_err(|error| malformed(path, &error))
}

/// Returns the line and column of an error.
pub(crate) fn position(error: &Error) -> Option<(u64, u64)> {
    error.location().map(|location| (location.line(), location.column()))
}

/// Converts an error into one of a file.
pub(crate) fn malformed(path: &Path, error: &Error) -> ConfigError {
    ConfigError::malformed(Place::new(path, position(error)), message(error))
}

/// Returns the message of an error, without its position.
pub(crate) fn message(error: &Error) -> String {
    error.render_with_formatter(&UserMessages)
}

/// Messages for users, who do not know serde's terms.
struct UserMessages;

impl MessageFormatter for UserMessages {
    fn localizer(&self) -> &dyn Localizer {
        &WithoutPosition
    }

    fn format_message<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        match error {
            Error::Unexpected { expected: "mapping start", .. } => {
                "expected a mapping ('name: value' lines)".into()
            }
            Error::Unexpected { expected: "sequence start", .. } => {
                "expected a list ('- value' lines)".into()
            }
            Error::Unexpected { expected: "string scalar", .. } => "expected text".into(),
            Error::NullIntoString { .. } => "expected text, found nothing".into(),
            Error::InvalidScalar { ty: "boolean", .. } => "expected true or false".into(),
            Error::InvalidScalar { ty: "u64" | "u32" | "u16", .. } => {
                "expected a whole number, 0 or more".into()
            }
            Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("the key '{key}' is here a second time; keep one of them").into()
            }
            Error::MultipleDocuments { .. } => "a second document begins here; remove the '---' line".into(),
            other => UserMessageFormatter.format_message(other),
        }
    }
}

/// Messages without a position, which [`Place`] has.
struct WithoutPosition;

impl Localizer for WithoutPosition {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _location: Location) -> Cow<'a, str> {
        base
    }
}

/// Seed that reads one key of the document's mapping and ignores the rest. An empty document has no keys.
pub(crate) struct Pick<'k, S> {
    key: &'k str,
    seed: S,
}

impl<'k, S> Pick<'k, S> {
    pub(crate) fn new(key: &'k str, seed: S) -> Self {
        Self { key, seed }
    }
}

impl<'k, T> Pick<'k, PhantomData<Option<T>>> {
    /// Reads the key as a `T`; `null` counts as missing.
    pub(crate) fn value(key: &'k str) -> Self {
        Self::new(key, PhantomData)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Pick<'_, S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Pick<'_, S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut seed = Some(self.seed);
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match seed.take_if(|_| key == self.key) {
                Some(seed) => found = Some(map.next_value_seed(seed)?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Reads a text as the requested type. A `String` is the text itself; everything else is read as YAML:
/// `8080`, `true`, `[a, b]`. The error does not contain the text, which may be a secret.
pub(crate) fn read_value<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let literal: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(text);
    if let Ok(value) = T::deserialize(literal) {
        return Ok(value);
    }
    read(text, PhantomData::<T>)
}

/// Converts a typed text into the value to write to a file: a number, `true`, a list, a mapping, or else
/// text. A number that would change its spelling (`4.10`, `007`) is text.
///
/// ```
/// # use goose_config::written_value;
/// assert_eq!(written_value("0.5"), 0.5);
/// assert_eq!(written_value("4.10"), "4.10");
/// assert_eq!(written_value("[a, b]"), serde_json::json!(["a", "b"]));
/// assert_eq!(written_value("a: b # c"), "a: b # c");
/// ```
pub fn written_value(text: &str) -> Value {
    let is_collection = text.starts_with(['[', '{']);
    match read(text, PhantomData::<Value>) {
        Ok(value @ Value::Bool(_)) => value,
        Ok(Value::Number(number)) if number.to_string() == text => Value::Number(number),
        Ok(value @ (Value::Array(_) | Value::Object(_))) if is_collection => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Top-level key.
#[derive(Debug, Clone)]
pub(crate) struct TopLevelKey {
    pub(crate) key: String,
    /// Line and column, from 1.
    pub(crate) position: (u64, u64),
    /// Range of the value, if it can be read without the rest of the document.
    pub(crate) value: Option<Range<usize>>,
}

/// Returns the keys of a document's mapping, in order. A document that is not a mapping has none. If it
/// cannot be parsed, the keys before the error are returned; reading the whole document reports the error.
pub(crate) fn outline(text: &str) -> Vec<TopLevelKey> {
    let options = granit_parser::options! { emit_comments: false };
    let mut keys: Vec<TopLevelKey> = Vec::new();
    let (mut depth, mut is_value) = (0_usize, false);
    for (event, span) in Parser::new_from_str_with_options(text, options).map_while(Result::ok) {
        if depth == 1 && event.is_node() {
            match (is_value, keys.last_mut()) {
                (true, Some(last)) => last.value = standalone_range(text, &event, &span),
                _ => keys.push(top_level_key(&event, &span)),
            }
            is_value = !is_value;
        }
        match event {
            Event::SequenceStart(..) if depth == 0 => return Vec::new(),
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    keys
}

/// Creates a key without a value. A key that is not text gets an empty name, which no lookup finds.
fn top_level_key(event: &Event<'_>, span: &Span) -> TopLevelKey {
    let key = event.scalar().map(|(key, _)| key.to_owned()).unwrap_or_default();
    TopLevelKey { key, position: (span.start.line() as u64, span.start.col() as u64 + 1), value: None }
}

/// Returns the range of a scalar that means the same as a separate document: on one line, without anchor and
/// tag, and not starting like other YAML syntax.
fn standalone_range(text: &str, event: &Event<'_>, span: &Span) -> Option<Range<usize>> {
    let Event::Scalar(_, style, 0, None) = event else { return None };
    let range = span.byte_range()?;
    let written = text.get(range.clone())?;
    let starts = match style {
        ScalarStyle::Plain => written.starts_with(|c: char| c.is_ascii_alphanumeric() || "/_".contains(c)),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => true,
        _ => false,
    };
    (starts && !written.contains(['\n', '\r'])).then_some(range)
}
