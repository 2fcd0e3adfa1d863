//! Arguments from outside: caps first, then the schema, then an error a model can act on.
//!
//! Whatever passes here is what the tool function receives; whatever is refused never reaches it.

use std::{
    fmt::Write as _,
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::Serialize;
use serde_json::{Number, Value};

use crate::{
    error::{ToolError, ToolResult},
    name_words::as_words,
    schema::{into_object, why_impossible},
    tool::JsonObject,
};

/// Maximum depth of arguments. JSON parsers on the way stop at 128 levels; staying well below makes every
/// path refuse the same input.
pub const MAX_ARGUMENT_DEPTH: usize = 64;

/// Maximum size of arguments, as JSON. Below the wire's line cap, so that every path refuses the same input.
pub const MAX_ARGUMENT_BYTES: usize = 4 * 1024 * 1024;

/// All arguments of a tool as one type of the author's: `fn search(&self, Arguments(query): Arguments<Query>)`.
///
/// The schema is that of `T`, which has to be an object: a structure, a map, or a choice between such; unknown fields
/// are refused where `T` says so (`#[serde(deny_unknown_fields)]`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arguments<T>(pub T);

/// Problems that one error lists.
const MAX_PROBLEMS: usize = 5;
/// Problems that are counted.
const MAX_LOOKED_AT: usize = 1_000;

/// Characters of an offending value that an error quotes.
const MAX_QUOTE_CHARS: usize = 80;

/// A tool's compiled schema, or why it does not compile.
pub struct Validator {
    schema: Result<jsonschema::Validator, String>,
    checks: AtomicUsize,
}

impl Validator {
    /// Compiles a schema.
    pub fn compile(schema: &JsonObject) -> Self {
        let schema = match why_impossible(schema) {
            Some(reason) => Err(quote_text(reason)),
            None => jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(true)
                .build(&Value::Object(schema.clone()))
                .map_err(|error| quote_text(&error.to_string())),
        };
        Self { schema, checks: AtomicUsize::new(0) }
    }

    /// Returns the number of checks so far.
    pub(crate) fn times_checked(&self) -> usize {
        self.checks.load(Ordering::Relaxed)
    }

    /// Why the schema is not valid.
    pub fn fault(&self) -> Option<&str> {
        self.schema.as_ref().err().map(String::as_str)
    }

    /// Checks and normalises `arguments` for `tool`.
    pub(crate) fn check(
        &self,
        tool: &str,
        schema: &JsonObject,
        mut arguments: JsonObject,
    ) -> ToolResult<JsonObject> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        check_caps(tool, &mut arguments)?;
        let validator = self.schema.as_ref().map_err(|reason| {
            ToolError::ExecutionError(format!(
                "Tool `{tool}` cannot be called: its input schema is not valid ({reason}). Use another tool."
            ))
        })?;
        let arguments = Value::Object(arguments);
        if validator.is_valid(&arguments) {
            return Ok(into_object(arguments));
        }
        let arguments = repaired(tool, schema, validator, arguments)?;
        if validator.is_valid(&arguments) {
            return Ok(into_object(arguments));
        }
        Err(ToolError::InvalidParameters(explain(tool, schema, validator, &arguments)))
    }
}

/// Changes arguments that do not fit in the ways in which models are known to write them.
///
/// # Errors
///
/// Fails if they break a cap after that.
fn repaired(
    tool: &str,
    schema: &JsonObject,
    validator: &jsonschema::Validator,
    arguments: Value,
) -> ToolResult<Value> {
    let parsed = parsed_texts(validator, &arguments);
    let mut arguments = into_object(arguments);
    drop_nulls(schema, &mut arguments);
    if !parsed.is_empty() {
        arguments.extend(parsed);
        check_caps(tool, &mut arguments)?;
    }
    Ok(Value::Object(arguments))
}

/// Removes optional arguments that are `null`, which is how some models leave out an argument.
fn drop_nulls(schema: &JsonObject, arguments: &mut JsonObject) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_optional = |name: &str| {
        properties.is_some_and(|all| all.contains_key(name))
            && !required.is_some_and(|names| names.iter().any(|it| it == name))
    };
    arguments.retain(|name, value| !(value.is_null() && is_optional(name)));
}

/// Returns the lists and objects that stand as JSON in a text where the schema wants no text, which is how some
/// models write nested arguments.
fn parsed_texts(validator: &jsonschema::Validator, arguments: &Value) -> JsonObject {
    use ValidationErrorKind::{AnyOf, OneOfNotValid, Type};

    let errors = validator.iter_errors(arguments).take(MAX_LOOKED_AT);
    let of_type = |kind: &_| matches!(kind, Type { .. } | AnyOf { .. } | OneOfNotValid { .. });
    let parsed = errors.filter(|error| of_type(error.kind())).filter_map(|error| {
        let name = error.instance_path().as_str().strip_prefix('/')?;
        let text = error.instance().as_str().filter(|text| text.trim_start().starts_with(['{', '[']))?;
        let value = serde_json::from_str(text).ok()?;
        let name = name.replace("~1", "/").replace("~0", "~");
        // A text deeper within is left as it is.
        (arguments.get(&name)?.as_str()? == text).then_some((name, value))
    });
    parsed.collect()
}

/// Refuses arguments that are too deep or too large and turns integral floats into integers.
///
/// JSON Schema counts `3.0` as an integer, serde does not; after this they agree.
///
/// # Errors
///
/// Says which cap they break.
pub fn check_caps(tool: &str, arguments: &mut JsonObject) -> ToolResult<()> {
    let refused =
        |why: String| ToolError::InvalidParameters(format!("Invalid arguments for `{tool}`: {why}"));
    let mut bytes = 2;
    for (key, value) in &mut *arguments {
        let size = normalise(value, 1).ok_or_else(|| {
            refused(format!("they nest deeper than {MAX_ARGUMENT_DEPTH} levels. Pass a flatter structure."))
        })?;
        bytes += key.len() + size;
    }
    // The walk only estimates; what is clearly small needs no exact count.
    if bytes > MAX_ARGUMENT_BYTES / WORST_ESTIMATE && json_len(arguments) > MAX_ARGUMENT_BYTES {
        return Err(refused(format!(
            "they are larger than {} MiB. \
             Split the work into several calls, or put the data into a file and pass its path.",
            MAX_ARGUMENT_BYTES >> 20
        )));
    }
    Ok(())
}

/// Factor by which JSON can be larger than estimated: a control character takes six bytes.
pub(crate) const WORST_ESTIMATE: usize = 6;

/// Returns the size of a value as JSON, in bytes.
pub fn json_len(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Turns integral floats into integers. Returns the approximate size as JSON; `None` if the value nests too deep.
fn normalise(value: &mut Value, depth: usize) -> Option<usize> {
    if depth > MAX_ARGUMENT_DEPTH {
        return None;
    }
    let mut size = 5;
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            if let Some(integer) = integral(number) {
                *number = integer;
            }
        }
        Value::String(text) => size = text.len() + 2,
        Value::Array(items) => {
            size = 3;
            for item in items {
                size += normalise(item, depth + 1)?;
            }
        }
        Value::Object(map) => {
            size = 3;
            for (key, item) in map {
                size += key.len() + 4 + normalise(item, depth + 1)?;
            }
        }
    }
    Some(size)
}

/// The integer that a float stands for, if it stands for one.
fn integral(number: &Number) -> Option<Number> {
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    const U64_END: f64 = 18_446_744_073_709_551_616.0;
    if !number.is_f64() {
        return None;
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    if (-I64_END..I64_END).contains(&float) {
        Some(Number::from(float as i64))
    } else if (0.0..U64_END).contains(&float) {
        Some(Number::from(float as u64))
    } else {
        None
    }
}

fn explain(tool: &str, schema: &JsonObject, validator: &jsonschema::Validator, arguments: &Value) -> String {
    let mut problems: Vec<String> =
        validator.iter_errors(arguments).take(MAX_LOOKED_AT).map(|error| problem(schema, &error)).collect();
    // The order of a schema's properties may differ from path to path.
    problems.sort();
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    let mut text = format!("Invalid arguments for `{tool}`: {}", problems.join("; "));
    if more > 0 {
        let _ = write!(text, "; and {more} more");
    }
    text.push_str(". Correct the arguments and call the tool again.");
    text
}

fn problem(schema: &JsonObject, error: &jsonschema::ValidationError<'_>) -> String {
    let path = display_path(error.instance_path().as_str());
    let at = |text: String| if path.is_empty() { text } else { format!("`{path}`: {text}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let full = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let expected = path.is_empty().then(|| describe_property(schema, name)).flatten();
            format!("`{full}` is required but missing{}", expected.unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> =
                unexpected.iter().take(MAX_PROBLEMS).map(|name| format!("`{}`", quote_text(name))).collect();
            let known = if path.is_empty() { known_arguments(schema) } else { String::new() };
            at(format!("unknown argument {}{known}", names.join(", ")))
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(kind) => kind.to_string(),
                // An argument that may be null is one that may be left out.
                TypeKind::Multiple(kinds) => {
                    let kinds = kinds.iter().map(|kind| kind.to_string()).filter(|kind| kind != "null");
                    kinds.collect::<Vec<_>>().join(" or ")
                }
            };
            at(format!("expected {expected}, got {}", quote_value(error.instance())))
        }
        ValidationErrorKind::Enum { options } => {
            at(format!("expected one of {}, got {}", quote_options(options), quote_value(error.instance())))
        }
        ValidationErrorKind::AnyOf { .. }
        | ValidationErrorKind::OneOfNotValid { .. }
        | ValidationErrorKind::OneOfMultipleValid { .. } => {
            at(format!("{} fits none of the allowed forms", quote_value(error.instance())))
        }
        _ => {
            let text = error.masked_with("it").to_string();
            at(format!("{} (got {})", quote_text(&text), quote_value(error.instance())))
        }
    }
}

/// `/items/0/name` as a reader would write it: `items[0].name`.
fn display_path(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if segment.bytes().all(|byte| byte.is_ascii_digit()) && !segment.is_empty() {
            let _ = write!(path, "[{segment}]");
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&quote_text(&segment));
        }
    }
    path
}

fn describe_property(schema: &JsonObject, name: &str) -> Option<String> {
    let property = schema.get("properties")?.get(name)?;
    let kind = property.get("type").and_then(Value::as_str);
    let description = property.get("description").and_then(Value::as_str);
    // The error names the argument already.
    let description = description.filter(|text| *text != as_words(name)).map(quote_text);
    let parts: Vec<String> = kind.map(str::to_owned).into_iter().chain(description).collect();
    (!parts.is_empty()).then(|| format!(" ({})", parts.join(": ")))
}

fn known_arguments(schema: &JsonObject) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties.into_iter().flat_map(JsonObject::keys).map(String::as_str).collect();
    if names.is_empty() {
        " (it takes none)".to_owned()
    } else {
        format!(" (it takes: {})", names.join(", "))
    }
}

fn quote_options(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut shown: Vec<String> =
        options.iter().take(20).map(|option| quote_text(&option.to_string())).collect();
    if options.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn quote_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the string {:?}", quote_text(text)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(map) => format!("an object with {} keys", map.len()),
    }
}

/// The kind of a value in words, for errors.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn quote_text(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
