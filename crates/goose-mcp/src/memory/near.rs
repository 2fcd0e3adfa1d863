//! Why a text was not found in a category, and what comes near: enough for a model to correct itself.

use std::collections::HashSet;

use super::{format::Located, overview, words::words};

/// How many near entries are shown.
const MAX_NEAR: usize = 3;

/// How much of each is shown.
const MAX_NEAR_BYTES: usize = 1024;

/// From which share of common words on an entry is near.
const MIN_LIKENESS: f64 = 0.2;

/// How many entries are compared, the newest ones, and how much of each text.
const MAX_COMPARED: usize = 2_000;
const MAX_COMPARED_BYTES: usize = 16 * 1024;

/// The message for an entry that is not there.
pub(super) fn explain(place: &str, content: &str, entries: &[Located]) -> String {
    let near = nearest(content, entries);
    if near.is_empty() {
        return format!(
            "None of the {} in {place} is this text, or resembles it. Look with retrieve_memories and pass the \
             `data` of the entry exactly as it is shown there.",
            overview::entries(entries.len())
        );
    }
    let shown: Vec<String> = near.iter().map(|data| quote(data)).collect();
    format!(
        "None of the {} in {place} is exactly this text. Call again with `memory_content` as one of these (JSON \
         strings):\n{}",
        overview::entries(entries.len()),
        shown.join("\n")
    )
}

fn nearest<'a>(content: &str, entries: &'a [Located]) -> Vec<&'a str> {
    let content = clip(content);
    let wanted: HashSet<String> = words(content).collect();
    let mut likely: Vec<(f64, &str)> = entries
        .iter()
        .skip(entries.len().saturating_sub(MAX_COMPARED))
        .map(|located| (likeness(content, &wanted, &located.entry.data), located.entry.data.as_str()))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    likely.sort_by(|one, other| other.0.total_cmp(&one.0));
    likely.dedup_by_key(|(_, data)| *data);
    likely.into_iter().take(MAX_NEAR).map(|(_, data)| data).collect()
}

/// The share of words that both have; a text that contains the other is nearer than any other.
fn likeness(content: &str, wanted: &HashSet<String>, data: &str) -> f64 {
    let data = clip(data);
    let has: HashSet<String> = words(data).collect();
    let both = wanted.intersection(&has).count();
    let either = wanted.len() + has.len() - both;
    let content = content.trim();
    let contains = !content.is_empty() && (data.contains(content) || content.contains(data));
    both as f64 / either.max(1) as f64 + if contains { 1.0 } else { 0.0 }
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMPARED_BYTES)]
}

fn quote(data: &str) -> String {
    let end = data.floor_char_boundary(MAX_NEAR_BYTES);
    let text = serde_json::Value::from(&data[..end]);
    if end == data.len() {
        format!("- {text}")
    } else {
        format!("- {text} and {} bytes more", data.len() - end)
    }
}
