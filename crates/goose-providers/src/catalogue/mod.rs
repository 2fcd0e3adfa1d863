//! Facts about well-known models: size, vision and prices.
//!
//! - `table`: the data, static and sorted; nothing is parsed or built before it is looked at;
//! - `overrides`: what the user knows better.
//!
//! A model is found by the longest entry that its name begins with, at the name's start or after a maker's name:
//! `us.anthropic.claude-sonnet-4-5-20250929-v1:0` is a `claude-sonnet-4-5`.

mod entry;
mod overrides;
mod table;

pub use overrides::{ModelOverride, ModelOverrides};

use self::{entry::Entry, table::MODELS};
use crate::provider::ModelInfo;

/// Context of an unknown model.
const DEFAULT_CONTEXT_LIMIT: u64 = 128_000;

/// Longest part of a name that is looked at.
const MAX_NAME_BYTES: usize = 256;

/// Returns the facts about a model, or the defaults for an unknown one.
pub fn model_info(name: &str) -> ModelInfo {
    match find(name) {
        Some(entry) => entry.info(name),
        None => ModelInfo::new(name, DEFAULT_CONTEXT_LIMIT),
    }
}

/// Returns whether the table has a family for that name.
pub(crate) fn knows(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<&'static Entry> {
    let name: String = name.chars().take(MAX_NAME_BYTES).map(normal).collect();
    let starts = name.char_indices().filter(|(at, c)| c.is_alphanumeric() && is_start(&name, *at));
    starts.map(|(at, _)| at).find_map(|at| longest(&name[at..]))
}

fn normal(c: char) -> char {
    if c == '.' { '-' } else { c.to_ascii_lowercase() }
}

fn is_start(name: &str, at: usize) -> bool {
    !name[..at].ends_with(char::is_alphanumeric)
}

/// All entries that a text begins with sort before it, the longest one last.
fn longest(text: &str) -> Option<&'static Entry> {
    let before = MODELS.partition_point(|entry| entry.prefix <= text);
    MODELS[..before].iter().rev().find(|entry| begins_with(text, entry.prefix))
}

/// Returns whether it begins with these words; `gpt-4-1106` does not begin with `gpt-4-1`.
fn begins_with(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_nothing_twice() {
        let prefixes: Vec<&str> = MODELS.iter().map(|entry| entry.prefix).collect();
        let mut sorted = prefixes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(prefixes, sorted);
    }

    #[test]
    fn every_row_makes_sense() {
        let faulty: Vec<(&str, Vec<&str>)> = MODELS
            .iter()
            .map(|entry| (entry.prefix, entry.problems()))
            .filter(|(_, problems)| !problems.is_empty())
            .collect();
        assert_eq!(faulty, []);
    }

    #[test]
    fn every_row_can_be_found() {
        for entry in MODELS {
            let found = find(entry.prefix).map(|found| found.prefix);
            assert_eq!(found, Some(entry.prefix), "no name leads to {}", entry.prefix);
        }
    }

    #[test]
    fn models_are_found_under_every_name_they_go_by() {
        for (name, family) in [
            ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
            ("gpt-4-1106-preview", "gpt-4-1106"),
            ("gpt-4.1", "gpt-4-1"),
            ("gpt-5.4-mini", "gpt-5-4-mini"),
            ("claude-3.5-sonnet", "claude-3-5-sonnet"),
            ("claude-opus-4-20250514", "claude-opus-4"),
            ("anthropic/claude-sonnet-5.5", "claude-sonnet-5-5"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
            ("databricks-meta-llama-3-3-70b-instruct", "llama-3-3"),
            ("accounts/fireworks/models/kimi-k2-instruct-0905", "kimi-k2"),
            ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
            ("qwen3:8b", "qwen3"),
            ("deepseek-r1-distill-llama-70b", "deepseek-r1"),
            ("zai-org/GLM-4.6", "glm-4-6"),
        ] {
            assert_eq!(find(name).map(|entry| entry.prefix), Some(family), "{name}");
        }
    }

    #[test]
    fn an_unknown_model_is_usual_and_strange_names_do_no_harm() {
        let unknown = ModelInfo::new("my-own", DEFAULT_CONTEXT_LIMIT);
        assert_eq!(model_info("my-own"), unknown);
        for name in ["", "-", "::", "é-gpt", "日本語-gpt-4o", &"ö".repeat(5000)] {
            assert_eq!(model_info(name).name, name);
        }
        assert_eq!(model_info("日本語-gpt-4o").context_limit, 128_000);
        assert!(model_info("日本語-gpt-4o").prices.is_some());
    }
}
