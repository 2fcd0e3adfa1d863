//! JSON Schemas from Rust types, in the dialect that models and MCP clients read (2020-12).
//!
//! The schema of a type accepts exactly what serde accepts for it: integers carry the bounds of their Rust
//! type, and the formats that only Rust knows (`uint32`) are dropped, because strict clients refuse them.

use std::cmp::Ordering;

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Value, json};

use crate::{questions::ElicitationSchema, tool::JsonObject};

/// The schema of `T` as tool arguments. Whatever `T` is, the top level is an object.
///
/// A `T` that is never an object (a list, a text, a number) cannot be filled by arguments. Its schema is one that
/// nothing fits, and every call of the tool is answered with the reason.
pub fn input_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = object_schema::<T>(SchemaSettings::draft2020_12().for_deserialize());
    if !Forms::new(&schema).object {
        return impossible(schema.get("type").unwrap_or(&Value::Null));
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// The schema of arguments that are declared as something else than an object.
fn impossible(declared: &Value) -> JsonObject {
    let reason = match declared {
        Value::String(kind) => {
            format!("its arguments are declared as one {kind}, but arguments are always an object")
        }
        _ => "its arguments are declared as something that is never an object".to_owned(),
    };
    let schema = json!({ "type": "object", "properties": {}, "not": {}, "description": reason });
    into_object(schema)
}

/// Why no arguments fit `schema`, where that can be seen.
pub(crate) fn why_impossible(schema: &JsonObject) -> Option<&str> {
    if schema.get("not") == Some(&json!({})) {
        let reason = schema.get("description").and_then(Value::as_str);
        return Some(reason.unwrap_or("it accepts nothing"));
    }
    let declared = schema.get("type").filter(|declared| !allows_object(declared));
    declared.map(|_| "arguments are always an object, which it does not accept")
}

/// The schema of `T` as a structured result.
pub fn output_schema<T: JsonSchema>() -> JsonObject {
    object_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// `schema` as MCP announces it: an object at the top, as structured results are sent.
///
/// A result that is not an object travels under `wrapper`, so that is where its schema goes; what may be either is
/// announced as either.
pub(crate) fn announced_output(schema: &JsonObject, wrapper: &str) -> JsonObject {
    let forms = Forms::new(schema);
    let mut root = JsonObject::from_iter([("type".to_owned(), json!("object"))]);
    let mut inner = schema.clone();
    for shared in ["$schema", "$defs"] {
        root.extend(inner.remove_entry(shared));
    }
    if forms.object && !forms.other {
        root.extend(inner.into_iter().filter(|(key, _)| key != "type"));
        return root;
    }
    let at = |place: String| {
        let mut moved = Value::Object(inner.clone());
        move_root(&mut moved, &place);
        moved
    };
    if forms.object {
        let wrapped = at(format!("#/anyOf/1/properties/{wrapper}"));
        let wrapped = json!({ "type": "object", "properties": { wrapper: wrapped }, "required": [wrapper] });
        root.insert("anyOf".to_owned(), json!([at("#/anyOf/0".to_owned()), wrapped]));
    } else {
        root.insert("properties".to_owned(), json!({ wrapper: at(format!("#/properties/{wrapper}")) }));
        root.insert("required".to_owned(), json!([wrapper]));
    }
    if let Some(Value::Object(shared)) = root.get_mut("$defs") {
        let place = if forms.object { "#/anyOf/0".to_owned() } else { format!("#/properties/{wrapper}") };
        shared.values_mut().for_each(|definition| move_root(definition, &place));
    }
    root
}

/// Lets references to the whole schema follow it to its new place.
fn move_root(value: &mut Value, place: &str) {
    match value {
        Value::Object(map) => {
            if map.get("$ref") == Some(&json!("#")) {
                map.insert("$ref".to_owned(), json!(place));
            }
            map.values_mut().for_each(|inner| move_root(inner, place));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| move_root(inner, place)),
        _ => {}
    }
}

/// Parts of a schema that are inspected to see what it accepts. Schemas may be untrusted, and may refer
/// to themselves.
const MAX_PARTS: usize = 200;

/// The kinds of values that a schema accepts, as far as its top shows it.
#[derive(Clone, Copy)]
struct Forms {
    object: bool,
    other: bool,
}

impl Forms {
    const ANY: Self = Self { object: true, other: true };
    const NONE: Self = Self { object: false, other: false };

    /// Returns what `root` accepts.
    fn new(root: &JsonObject) -> Self {
        Self::new_part(root, root, &mut { MAX_PARTS })
    }

    /// Returns what `schema`, a part of `root`, accepts; anything, once `parts` have been inspected.
    fn new_part(schema: &JsonObject, root: &JsonObject, parts: &mut usize) -> Self {
        *parts = parts.saturating_sub(1);
        if *parts == 0 {
            return Self::ANY;
        }
        if let Some(declared) = schema.get("type") {
            let only_objects = declared == "object" || *declared == json!(["object"]);
            return Self { object: allows_object(declared), other: !only_objects };
        }
        let found = |schema: &Value, parts: &mut usize| match schema.as_object() {
            Some(schema) => Self::new_part(schema, root, parts),
            None => Self::ANY,
        };
        if let Some(forms) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
            return forms.iter().map(|form| found(form, parts)).fold(Self::NONE, Self::or);
        }
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            let name = pointer.strip_prefix("#/$defs/").unwrap_or_default();
            let definition = root.get("$defs").and_then(|shared| shared.get(name));
            return definition.map_or(Self::ANY, |definition| found(definition, parts));
        }
        match schema.get("const") {
            Some(value) => Self { object: value.is_object(), other: !value.is_object() },
            None => Self::ANY,
        }
    }

    fn or(self, other: Self) -> Self {
        Self { object: self.object || other.object, other: self.other || other.other }
    }
}

/// Returns whether the keyword `type` lets an object through.
pub fn allows_object(declared: &Value) -> bool {
    match declared {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    }
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
        let form = forms.into_iter().find(|form| !is_null(form)).unwrap_or_default();
        for (key, value) in into_object(form) {
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

/// The object that a value is; an empty one in place of anything else.
pub(crate) fn into_object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn object_schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let schema = settings.with_transform(Portable).into_generator().into_root_schema_for::<T>();
    let mut schema = into_object(schema.to_value());
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
                tighten(schema.ensure_object(), "minimum", minimum, Ordering::Less);
                tighten(schema.ensure_object(), "maximum", maximum, Ordering::Greater);
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

/// Bounds a number by its type, unless a limit that is already there is tighter. A limit that compares to the
/// type's as `beyond` lets values through that the type cannot hold.
fn tighten(schema: &mut JsonObject, keyword: &str, of_type: Value, beyond: Ordering) {
    let fits = |limit: &Value| compare(limit, &of_type).is_some_and(|order| order != beyond);
    if !schema.get(keyword).is_some_and(fits) {
        schema.insert(keyword.to_owned(), of_type);
    }
}

fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    let integer = |value: &Value| value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
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
