//! One row of the table of models, in a form that costs nothing to have.

use crate::provider::{ModelInfo, Prices, PromptStyle};

/// The facts about a family of models.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) prefix: &'static str,
    context: u64,
    /// Zero where it is not known.
    output: u64,
    images: Images,
    prices: Option<Prices>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Images {
    Seen,
    NotSeen,
}

/// A family that sees images and whose prices are not known.
pub(super) const fn model(prefix: &'static str, context: u64, output: u64) -> Entry {
    Entry { prefix, context, output, images: Images::Seen, prices: None }
}

impl Entry {
    /// The same, but it reads text only.
    pub(super) const fn blind(mut self) -> Self {
        self.images = Images::NotSeen;
        self
    }

    /// The same with prices for what it reads and writes.
    pub(super) const fn costs(mut self, input: f64, output: f64) -> Self {
        self.prices = Some(Prices { input, output, cached_input: None, cache_write: None });
        self
    }

    /// The same with a price for what it reads from its cache.
    pub(super) const fn cached(mut self, price: f64) -> Self {
        if let Some(prices) = &mut self.prices {
            prices.cached_input = Some(price);
        }
        self
    }

    /// The same with a price for what is put into its cache.
    pub(super) const fn written(mut self, price: f64) -> Self {
        if let Some(prices) = &mut self.prices {
            prices.cache_write = Some(price);
        }
        self
    }

    /// Returns the first contradiction in it.
    #[cfg(test)]
    pub(super) fn problems(&self) -> Vec<&'static str> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, problem| {
            if !holds {
                problems.push(problem);
            }
        };
        check((1_024..=10_000_000).contains(&self.context), "no size of a context");
        check(self.output <= self.context, "an answer larger than the context");
        if let Some(Prices { input, output, cached_input, cache_write }) = self.prices {
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

    /// As a model of that name.
    pub(super) fn info(&self, name: &str) -> ModelInfo {
        ModelInfo {
            name: name.to_owned(),
            context_limit: self.context,
            max_output: (self.output > 0).then_some(self.output),
            sees_images: self.images == Images::Seen,
            prices: self.prices,
            prompt_style: PromptStyle::Full,
            max_tool_tokens: None,
        }
    }
}
