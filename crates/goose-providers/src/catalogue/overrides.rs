//! [`ModelOverrides`]: what the user knows better than the table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::provider::{ModelInfo, Prices};

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
