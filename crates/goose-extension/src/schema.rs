//! JSON Schemas from Rust types, in the dialect that models and MCP clients read (2020-12).
//!
//! The schema of a type accepts exactly what serde accepts for it: integers carry the bounds of their Rust
//! type, and the formats that only Rust knows (`uint32`) are dropped, because strict clients refuse them.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Value, json};

use crate::{questions::ElicitationSchema, tool::JsonObject};

/// The schema of `T` as tool arguments. Whatever `T` is, the top level is an object.
pub fn input_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = object_schema::<T>(SchemaSettings::draft2020_12().for_deserialize());
    schema.entry("type").or_insert_with(|| json!("object"));
    if schema.get("type") == Some(&json!("object")) {
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of `T` as a structured result.
pub fn output_schema<T: JsonSchema>() -> JsonObject {
    object_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of `T` as a form: flat, and every field a text, a number, a yes or no, or a choice.
///
/// # Errors
///
/// Says which part of `T` a form cannot have.
pub(crate) fn form_schema<T: JsonSchema>() -> Result<ElicitationSchema, serde_json::Error> {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|it| {
        it.inline_subschemas = true;
        it.meta_schema = None;
    });
    let mut form = object_schema::<T>(settings);
    if let Some(Value::Object(fields)) = form.get_mut("properties") {
        fields.values_mut().filter_map(Value::as_object_mut).for_each(simplify_field);
    }
    serde_json::from_value(Value::Object(form))
}

/// A form says "optional" by not requiring a field, not by allowing `null`; and it names the choices of an enum.
fn simplify_field(field: &mut JsonObject) {
    let is_null = |schema: &Value| schema.get("type") == Some(&json!("null"));
    if let Some(Value::Array(forms)) = field.remove("anyOf") {
        for (key, value) in
            forms.into_iter().find(|form| !is_null(form)).and_then(into_object).unwrap_or_default()
        {
            field.entry(key).or_insert(value);
        }
    }
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            field.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = field.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(choices)) = field.get_mut("oneOf") {
        choices.iter_mut().filter_map(Value::as_object_mut).for_each(title_choice);
        field.entry("type").or_insert_with(|| json!("string"));
    }
}

fn title_choice(choice: &mut JsonObject) {
    let title = choice.remove("description").or_else(|| choice.get("const").cloned());
    choice.remove("type");
    if let Some(title) = title {
        choice.entry("title").or_insert(title);
    }
}

fn into_object(value: Value) -> Option<JsonObject> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn object_schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let schema = settings.with_transform(Portable).into_generator().into_root_schema_for::<T>();
    let mut schema = match schema.to_value() {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    // The name of a Rust type says nothing to a model.
    schema.remove("title");
    schema
}

/// Replaces what only Rust understands, and what some clients refuse.
#[derive(Clone)]
struct Portable;

impl Transform for Portable {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(bounds) = schema.get("format").and_then(Value::as_str).and_then(bounds_of) {
            schema.remove("format");
            if let Some((minimum, maximum)) = bounds {
                schema.ensure_object().entry("minimum").or_insert(minimum);
                schema.ensure_object().entry("maximum").or_insert(maximum);
            }
        }
        // MCP before 2026-07-28 wants every property to be an object: "anything" is `{}`, not `true`.
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties
                .values_mut()
                .filter(|property| **property == json!(true))
                .for_each(|it| *it = json!({}));
        }
        transform_subschemas(self, schema);
    }
}

/// `Some(None)` is a numeric format without bounds; `None` is some other format, which stays.
fn bounds_of(format: &str) -> Option<Option<(Value, Value)>> {
    Some(match format {
        "int8" => Some((json!(i8::MIN), json!(i8::MAX))),
        "int16" => Some((json!(i16::MIN), json!(i16::MAX))),
        "int32" => Some((json!(i32::MIN), json!(i32::MAX))),
        "int64" | "int" => Some((json!(i64::MIN), json!(i64::MAX))),
        "uint8" => Some((json!(0), json!(u8::MAX))),
        "uint16" => Some((json!(0), json!(u16::MAX))),
        "uint32" => Some((json!(0), json!(u32::MAX))),
        // JSON numbers reach us as i64 or u64, so wider types cannot receive more than that.
        "uint64" | "uint" | "uint128" => Some((json!(0), json!(u64::MAX))),
        "int128" => Some((json!(i64::MIN), json!(u64::MAX))),
        "float" | "double" => None,
        _ => return None,
    })
}
