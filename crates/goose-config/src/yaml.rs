//! The one way to read YAML: the same options everywhere, and errors that say what was expected, in plain words.

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
    // Snippets would put the file's values, which can be secrets, into messages.
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
    };
    with_deserializer_from_str_with_options(text, options, |deserializer| seed.deserialize(deserializer))
}

/// Reads a document of any shape.
pub fn read_yaml(path: &Path, text: &str) -> Result<Value, ConfigError> {
    read(text, PhantomData::<Value>).map_err(|error| malformed(path, &error))
}

/// Returns the place of an error: line and column.
pub(crate) fn position(error: &Error) -> Option<(u64, u64)> {
    error.location().map(|location| (location.line(), location.column()))
}

/// The error of a file that is not as it should be.
pub(crate) fn malformed(path: &Path, error: &Error) -> ConfigError {
    ConfigError::malformed(Place::new(path, position(error)), message(error))
}

/// Returns the message of an error, without its place.
pub(crate) fn message(error: &Error) -> String {
    error.render_with_formatter(&PlainWords)
}

/// Messages for people who edit a file, and do not know our types.
struct PlainWords;

impl MessageFormatter for PlainWords {
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

/// The position is a part of [`Place`], so messages do not repeat it.
struct WithoutPosition;

impl Localizer for WithoutPosition {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _location: Location) -> Cow<'a, str> {
        base
    }
}

/// Reads one key of the document's mapping with a seed, and passes over the rest. An empty document has no keys.
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
    /// Reads the key as a `T`; `null` counts as absent.
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

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
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

/// Reads a text as the type that is asked for. As text it is taken literally, whatever it looks like; as anything
/// else it is read as YAML has it: `8080`, `true`, `[a, b]`. The error says what was expected, and not what came.
pub(crate) fn read_value<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let literal: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(text);
    if let Ok(value) = T::deserialize(literal) {
        return Ok(value);
    }
    read(text, PhantomData::<T>)
}

/// The value of a text that a person typed for a file: a number, `true`, a list, a mapping, else text. What would lose
/// its spelling as a number (`4.10`, `007`) is text.
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

/// One top-level key.
#[derive(Debug, Clone)]
pub(crate) struct Outlined {
    pub(crate) key: String,
    /// Line and column of the key, from 1.
    pub(crate) position: (u64, u64),
    /// The place of the value, if it can be read without the rest of the document.
    pub(crate) value: Option<Range<usize>>,
}

/// The keys of a document's mapping, in its order. A document that is no mapping has none, and one that cannot be
/// parsed has those before the error: reading it whole says what is wrong.
pub(crate) fn outline(text: &str) -> Vec<Outlined> {
    let options = granit_parser::options! { emit_comments: false };
    let mut keys: Vec<Outlined> = Vec::new();
    let (mut depth, mut is_value) = (0_usize, false);
    for (event, span) in Parser::new_from_str_with_options(text, options).map_while(Result::ok) {
        if depth == 1 && event.is_node() {
            match (is_value, keys.last_mut()) {
                (true, Some(last)) => last.value = standing_alone(text, &event, &span),
                _ => keys.push(outlined(&event, &span)),
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

/// A key that is no text is known by nothing.
fn outlined(event: &Event<'_>, span: &Span) -> Outlined {
    let key = event.scalar().map(|(key, _)| key.to_owned()).unwrap_or_default();
    Outlined { key, position: (span.start.line() as u64, span.start.col() as u64 + 1), value: None }
}

/// Returns the place of a scalar that means the same on its own: on one line, with no anchor and no tag, and nothing that the
/// beginning of a document could mistake.
fn standing_alone(text: &str, event: &Event<'_>, span: &Span) -> Option<Range<usize>> {
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
