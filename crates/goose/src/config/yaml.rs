//! The one way to read YAML: the same options everywhere, and errors that say what was expected, in plain words.

use std::{borrow::Cow, fmt, marker::PhantomData, path::Path};

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor, value::StrDeserializer,
};
use serde_json::Value;
use serde_saphyr::{
    Error, Location, MessageFormatter, NonFiniteFloatPolicy, UserMessageFormatter, localizer::Localizer,
    with_deserializer_from_str_with_options,
};

use super::{ConfigError, Place};

/// Reads a whole document with a seed.
pub(super) fn read<T, S>(text: &str, seed: S) -> Result<T, Error>
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
pub(crate) fn read_yaml(path: &Path, text: &str) -> Result<Value, ConfigError> {
    read(text, PhantomData::<Value>).map_err(|error| malformed(path, &error))
}

/// Where an error is: line and column.
pub(super) fn position(error: &Error) -> Option<(u64, u64)> {
    error.location().map(|location| (location.line(), location.column()))
}

/// The error of a file that is not as it should be.
pub(super) fn malformed(path: &Path, error: &Error) -> ConfigError {
    ConfigError::malformed(Place::new(path, position(error)), message(error))
}

/// What an error says, without where.
pub(super) fn message(error: &Error) -> String {
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
pub(super) struct Pick<'k, S> {
    key: &'k str,
    seed: S,
}

impl<'k, S> Pick<'k, S> {
    pub(super) fn new(key: &'k str, seed: S) -> Self {
        Self { key, seed }
    }
}

impl<'k, T> Pick<'k, PhantomData<Option<T>>> {
    /// Reads the key as a `T`; `null` counts as absent.
    pub(super) fn value(key: &'k str) -> Self {
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
pub(super) fn read_value<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let literal: StrDeserializer<'_, Unwanted> = StrDeserializer::new(text);
    if let Ok(value) = T::deserialize(literal) {
        return Ok(value);
    }
    read(text, PhantomData::<T>).map_err(|error| message(&error))
}

/// Why a text is not the literal form of a type. Nobody looks at it.
#[derive(Debug)]
struct Unwanted;

impl fmt::Display for Unwanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is something else")
    }
}

impl std::error::Error for Unwanted {}

impl serde::de::Error for Unwanted {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The value of a text that a person typed for a file: a number, `true`, a list, a mapping, else text. What would lose
/// its spelling as a number (`4.10`, `007`) is text.
///
/// ```
/// # use goose::config::written_value;
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
