//! Facts about well-known models (size, vision, prices), and the user's overrides.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use crate::provider::{ModelInfo, Prices};

/// Context of an unknown model.
const DEFAULT_CONTEXT_LIMIT: u64 = 128_000;

/// Longest part of a name that is looked at.
const MAX_NAME_BYTES: usize = 256;

/// Returns the facts about a model, or the defaults for an unknown one.
pub fn model_info(name: &str) -> ModelInfo {
    let known = find(name).and_then(|row| parse(row, name));
    known.unwrap_or_else(|| ModelInfo::new(name, DEFAULT_CONTEXT_LIMIT))
}

/// Returns whether the table has a family for that name.
pub(crate) fn knows(name: &str) -> bool {
    find(name).is_some()
}

/// Returns the row of a model's family.
fn find(name: &str) -> Option<&'static str> {
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
fn longest(text: &str) -> Option<&'static str> {
    let before = ROWS.partition_point(|row| prefix(row) <= text);
    ROWS[..before].iter().copied().rev().find(|row| begins_with(text, prefix(row)))
}

fn prefix(row: &str) -> &str {
    row.split_once(',').map_or(row, |(prefix, _)| prefix)
}

/// Returns whether it begins with these words; `gpt-4-1106` does not begin with `gpt-4-1`.
fn begins_with(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Every family, sorted by name. Dots are dashes here; the longest entry that a model's name begins with counts.
///
/// Sizes and prices (US dollars for a million tokens, the usual tier, short prompts) were put together in 2026 and have
/// not been checked row by row against the makers' pages: a row may be out of date or wrong. They serve to show about
/// what a session costs, not to check a bill; users can correct them under `models:` in the configuration. Where a
/// maker charges by the hour of the day, or many sell the same model, there is no price here.
static ROWS: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("models.csv").lines().skip(1).collect());

/// Returns what a row says of a model with that name.
fn parse(row: &str, name: &str) -> Option<ModelInfo> {
    let columns: [&str; 8] = row.split(',').collect::<Vec<_>>().try_into().ok()?;
    let [_prefix, context, output, sees, input_price, output_price, cached, written] = columns;
    let prices = input_price.parse().ok().zip(output_price.parse().ok()).map(|(input, output)| Prices {
        input,
        output,
        cached_input: cached.parse().ok(),
        cache_write: written.parse().ok(),
    });
    Some(ModelInfo {
        max_output: output.parse().ok(),
        sees_images: sees == "images",
        prices,
        ..ModelInfo::new(name, context.parse().ok()?)
    })
}

/// The user's overrides of facts about models.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelOverrides {
    /// The size of the model that is asked for, whatever else is said (`GOOSE_CONTEXT_LIMIT`).
    pub context_limit: Option<u64>,
    /// By the model's name, as in the configuration under `models:`.
    pub models: BTreeMap<String, ModelOverride>,
}

/// The user's overrides for one model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelOverride {
    /// The size of its context, in tokens.
    pub context_limit: Option<u64>,
    /// Most tokens of an answer.
    pub max_output: Option<u64>,
    /// True if it accepts images.
    pub sees_images: Option<bool>,
    /// US dollars for a million tokens read.
    pub input_price: Option<f64>,
    /// US dollars for a million tokens written.
    pub output_price: Option<f64>,
    /// US dollars for a million tokens read from the cache.
    pub cached_input_price: Option<f64>,
    /// US dollars for a million tokens put into the cache.
    pub cache_write_price: Option<f64>,
}

impl ModelOverrides {
    /// Returns whether the user has set the size of that model.
    pub(crate) fn says_size_of(&self, model: &str) -> bool {
        self.context_limit.is_some()
            || self.models.get(model).is_some_and(|says| says.context_limit.is_some())
    }

    pub(crate) fn apply(&self, info: &mut ModelInfo) {
        if let Some(says) = self.models.get(&info.name) {
            says.apply(info);
        }
        if let Some(limit) = positive(self.context_limit) {
            info.context_limit = limit;
        }
    }
}

impl ModelOverride {
    pub(crate) fn apply(&self, info: &mut ModelInfo) {
        if let Some(limit) = positive(self.context_limit) {
            info.context_limit = limit;
        }
        info.max_output = positive(self.max_output).or(info.max_output);
        info.sees_images = self.sees_images.unwrap_or(info.sees_images);
        info.prices = self.prices(info.prices).or(info.prices);
    }

    /// New prices over the old ones. Both of reading and writing must be known, or there are none.
    fn prices(&self, known: Option<Prices>) -> Option<Prices> {
        let sound = |price: Option<f64>| price.filter(|price| price.is_finite() && *price >= 0.0);
        Some(Prices {
            input: sound(self.input_price).or(known.map(|known| known.input))?,
            output: sound(self.output_price).or(known.map(|known| known.output))?,
            cached_input: sound(self.cached_input_price).or(known.and_then(|known| known.cached_input)),
            cache_write: sound(self.cache_write_price).or(known.and_then(|known| known.cache_write)),
        })
    }
}

fn positive(number: Option<u64>) -> Option<u64> {
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first contradiction in it.
    fn problems(model: &ModelInfo) -> Vec<&'static str> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, problem| {
            if !holds {
                problems.push(problem);
            }
        };
        check((1_024..=10_000_000).contains(&model.context_limit), "no size of a context");
        check(
            model.max_output.is_none_or(|output| output <= model.context_limit),
            "an answer larger than the context",
        );
        if let Some(Prices { input, output, cached_input, cache_write }) = model.prices {
            check(input > 0.0 && output <= 1_000.0, "prices out of all reason");
            check(output >= input, "writing costs less than reading");
            check(
                cached_input.is_none_or(|cached| cached > 0.0 && cached < input),
                "the cache saves nothing",
            );
            check(
                cache_write.is_none_or(|write| write >= input && write <= 2.0 * input),
                "an odd price to cache",
            );
            check(cache_write.is_none() || cached_input.is_some(), "a price to cache, none to read from it");
        }
        problems
    }

    #[test]
    fn the_table_is_sorted_and_says_nothing_twice() {
        let prefixes: Vec<&str> = ROWS.iter().map(|row| prefix(row)).collect();
        let mut sorted = prefixes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(prefixes, sorted);
    }

    #[test]
    fn every_row_makes_sense() {
        let problems = |row: &str| match parse(row, prefix(row)) {
            Some(model) => problems(&model),
            None => vec!["it cannot be read"],
        };
        let faulty: Vec<(&str, Vec<&str>)> = ROWS
            .iter()
            .map(|row| (*row, problems(row)))
            .filter(|(_, problems)| !problems.is_empty())
            .collect();
        assert_eq!(faulty, []);
    }

    #[test]
    fn every_row_can_be_found() {
        for row in ROWS.iter() {
            assert_eq!(find(prefix(row)), Some(*row), "no name leads there");
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
            assert_eq!(find(name).map(prefix), Some(family), "{name}");
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
