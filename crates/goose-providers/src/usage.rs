//! [`Usage`]: what an answer cost.

use serde::{Deserialize, Serialize};

use crate::provider::Prices;

/// Tokens, as the service counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Everything the model read, cached or not.
    pub input: u64,
    /// Everything it wrote, thinking included.
    pub output: u64,
    /// The part of `input` that came from the cache.
    pub cached_input: u64,
    /// The part of `input` that was put into the cache.
    pub cache_write: u64,
}

impl Usage {
    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The cost in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "no count of tokens comes near 2^52")]
    pub fn cost(&self, prices: &Prices) -> f64 {
        let cached_price = prices.cached_input.unwrap_or(prices.input);
        let write_price = prices.cache_write.unwrap_or(prices.input);
        let plain = self.input.saturating_sub(self.cached_input).saturating_sub(self.cache_write);
        let dollars = plain as f64 * prices.input
            + self.cached_input as f64 * cached_price
            + self.cache_write as f64 * write_price
            + self.output as f64 * prices.output;
        dollars / 1_000_000.0
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached_input = self.cached_input.saturating_add(other.cached_input);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}
