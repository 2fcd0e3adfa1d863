//! A value that is written outside of a file: in an environment variable, or behind a flag.

use std::{fmt, marker::PhantomData};

use serde::de::{DeserializeOwned, Error, value::StrDeserializer};
use serde_json::Value;

use super::yaml;

/// Reads a text as the type that is asked for. As text it is taken literally, whatever it looks like; as anything
/// else it is read as YAML has it: `8080`, `true`, `[a, b]`. The error says what was expected, and not what came.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let literal: StrDeserializer<'_, Unwanted> = StrDeserializer::new(text);
    if let Ok(value) = T::deserialize(literal) {
        return Ok(value);
    }
    yaml::read(text, PhantomData::<T>).map_err(|error| yaml::message(&error))
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

impl Error for Unwanted {
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
    match yaml::read(text, PhantomData::<Value>) {
        Ok(value @ Value::Bool(_)) => value,
        Ok(Value::Number(number)) if number.to_string() == text => Value::Number(number),
        Ok(value @ (Value::Array(_) | Value::Object(_))) if is_collection => value,
        _ => Value::String(text.to_owned()),
    }
}
