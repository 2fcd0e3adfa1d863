//! Names that stand for text which is different in each run.

use serde_json::{Map, Value};

/// What stands for what, the longest text first.
#[derive(Default)]
pub(super) struct Placeholders(Vec<Placeholder>);

struct Placeholder {
    real: String,
    mark: String,
}

impl Placeholders {
    pub(super) fn add(&mut self, real: String, name: &str) {
        if real.is_empty() {
            return;
        }
        self.0.push(Placeholder { real, mark: format!("{{{{{name}}}}}") });
        self.0.sort_by_key(|placeholder| std::cmp::Reverse(placeholder.real.len()));
    }

    /// Puts names for the real text.
    pub(super) fn hide(&self, value: &mut Value) {
        self.0.iter().for_each(|it| replace(value, &it.real, &it.mark));
    }

    /// Puts the real text for names.
    pub(super) fn show(&self, value: &mut Value) {
        self.0.iter().for_each(|it| replace(value, &it.mark, &it.real));
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => replace_in(fields, from, to),
        _ => {}
    }
}

fn replace_in(fields: &mut Map<String, Value>, from: &str, to: &str) {
    fields.values_mut().for_each(|field| replace(field, from, to));
    if fields.keys().any(|key| key.contains(from)) {
        let renamed = std::mem::take(fields).into_iter();
        *fields = renamed.map(|(key, field)| (key.replace(from, to), field)).collect();
    }
}
