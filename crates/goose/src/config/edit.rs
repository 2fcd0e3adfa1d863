//! A change of a YAML document that is certain: the text is changed in one place, read again, and refused where it
//! says anything else than before and the change.

use std::marker::PhantomData;

use serde_json::{Map, Value};

use super::{splice, yaml};

/// How deep the values of a document may be looked into.
const MAX_KEYS: usize = 64;

/// Why a change is not made. The text is as it was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditError {
    /// The text cannot be read: where, and what is wrong.
    Malformed(Option<(u64, u64)>, String),
    /// The text can be read, but the change cannot be made without harm.
    Refused(String),
}

/// Sets the value at a path of keys. Where both the old and the new value are mappings, only what differs is touched.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let before = values(text)?;
    if at(&before, path) == Some(value) {
        return Ok(text.to_owned());
    }
    match (at(&before, path), value) {
        (Some(Value::Object(old)), Value::Object(new))
            if !old.is_empty() && !new.is_empty() && path.len() < MAX_KEYS =>
        {
            set_each(text, path, old, new)
        }
        _ => set_whole(text, path, value, before),
    }
}

/// Takes the key at a path away, where it is there.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, EditError> {
    let mut expected = values(text)?;
    if at(&expected, path).is_none() {
        return Ok(text.to_owned());
    }
    if let Some((last, before)) = path.split_last()
        && let Some(Value::Object(entries)) = at_mut(&mut expected, before)
    {
        entries.remove(*last);
    }
    let after = splice::remove(text, path).map_err(|why| refused(path, &why))?;
    checked(after, &expected, path)
}

fn set_each(
    text: &str,
    path: &[&str],
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for (key, value) in new {
        text = set(&text, &[path, &[key.as_str()]].concat(), value)?;
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        text = remove(&text, &[path, &[key.as_str()]].concat())?;
    }
    Ok(text)
}

fn set_whole(text: &str, path: &[&str], value: &Value, before: Value) -> Result<String, EditError> {
    let mut expected = before;
    put(&mut expected, path, value).map_err(|why| refused(path, &why))?;
    let after = splice::set(text, path, value).map_err(|why| refused(path, &why))?;
    checked(after, &expected, path)
}

/// The new text, where it says what it should.
fn checked(after: String, expected: &Value, path: &[&str]) -> Result<String, EditError> {
    match values(&after) {
        Ok(found) if normal(&found) == normal(expected) => Ok(after),
        _ => Err(refused(path, "the way it is written does not allow it")),
    }
}

fn refused(path: &[&str], why: &str) -> EditError {
    EditError::Refused(format!(
        "'{}' cannot be changed without harm to the rest ({why}); change it by hand",
        path.join(".")
    ))
}

/// All that a document says. An empty one is an empty mapping.
fn values(text: &str) -> Result<Value, EditError> {
    let read = yaml::read(text, PhantomData::<Option<Value>>);
    match read.map_err(|error| EditError::Malformed(yaml::position(&error), yaml::message(&error)))? {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(mapping @ Value::Object(_)) => Ok(mapping),
        Some(_) => {
            Err(EditError::Malformed(Some((1, 1)), "expected a mapping ('name: value' lines)".to_owned()))
        }
    }
}

/// The same with nothing and an empty mapping alike: a block whose last entry is taken away is nothing.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(entries) if entries.is_empty() => Value::Null,
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), normal(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        scalar => scalar.clone(),
    }
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

fn at_mut<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, key| value.get_mut(*key))
}

/// Puts a value at a path, and mappings on the way to it.
fn put(root: &mut Value, path: &[&str], value: &Value) -> Result<(), String> {
    let mut place = root;
    for key in path {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(entries) = place else {
            return Err(format!("there is a value where '{key}' needs a mapping"));
        };
        place = entries.entry((*key).to_owned()).or_insert(Value::Null);
    }
    *place = value.clone();
    Ok(())
}

/// The mapping at a path, where there is one.
pub(super) fn mapping(text: &str, path: &[&str]) -> Result<Option<Map<String, Value>>, EditError> {
    Ok(at(&values(text)?, path).and_then(Value::as_object).cloned())
}
