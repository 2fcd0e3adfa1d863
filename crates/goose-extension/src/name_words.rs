//! Descriptions for what has none: the name, as words. A model gets at least that from a tool without doc comments.

use serde_json::{Value, json};

use crate::tool::JsonObject;

/// A name as words: `max_depth` is "Max depth".
pub fn as_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len());
    let mut before = ' ';
    for letter in name.trim_matches(['_', '-']).chars() {
        match letter {
            '_' | '-' => words.push(' '),
            _ if before.is_lowercase() && letter.is_uppercase() => words.extend([' ', letter]),
            _ if words.is_empty() => words.extend(letter.to_uppercase()),
            _ => words.push(letter),
        }
        before = letter;
    }
    words
}

/// The schema with a description for each argument. An argument whose type has one keeps that.
pub(crate) fn described(mut schema: JsonObject) -> JsonObject {
    let Some(Value::Object(mut properties)) = schema.get("properties").cloned() else { return schema };
    for (name, property) in &mut properties {
        let is_described = is_described(property, &schema);
        if let Value::Object(property) = property
            && !is_described
        {
            property.insert("description".to_owned(), json!(as_words(name)));
        }
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

/// Returns whether a part of `root` has a description, by itself or through the type that it refers to.
fn is_described(schema: &Value, root: &JsonObject) -> bool {
    let has_own = |schema: &Value| schema.get("description").is_some();
    let refers = |schema: &Value| {
        let name = schema.get("$ref").and_then(Value::as_str)?.strip_prefix("#/$defs/")?;
        root.get("$defs")?.get(name).map(has_own)
    };
    // An `Option` of a type is a choice between it and `null`.
    let forms = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    [schema].into_iter().chain(forms).any(|form| has_own(form) || refers(form) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::as_words;

    #[test]
    fn a_name_reads_as_words() {
        for (name, words) in [
            ("list_files", "List files"),
            ("read_file-now", "Read file now"),
            ("maxResults", "Max Results"),
            ("readHTML", "Read HTML"),
            ("Move", "Move"),
            ("_", ""),
            ("élan_vital", "Élan vital"),
        ] {
            assert_eq!(as_words(name), words);
        }
    }
}
