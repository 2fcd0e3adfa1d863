//! [`Sampler`]: chooses the next token among the likely ones.

use super::grammar::likeliest;

/// Number of likeliest tokens among which one is drawn.
const TOP_K: usize = 40;

/// Share of the probability mass above which further tokens are left out.
const TOP_P: f32 = 0.95;

/// Choice among likely tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Randomness of the choice. Zero always takes the likeliest token.
    pub temperature: f32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, seed: 1 }
    }
}

/// Random choice that depends only on the seed.
#[derive(Debug)]
pub(super) struct Sampler {
    temperature: f32,
    state: u64,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling) -> Self {
        let temperature = if sampling.temperature.is_finite() { sampling.temperature.max(0.0) } else { 0.0 };
        Self { temperature, state: sampling.seed }
    }

    /// Returns the number of candidate tokens.
    pub(super) fn width(&self) -> usize {
        if self.temperature > 0.0 { TOP_K } else { 1 }
    }

    /// Returns the next token; none if all are excluded.
    pub(super) fn choose(&mut self, logits: &[f32]) -> Option<u32> {
        match self.width() {
            1 => likeliest(logits),
            width => self.draw(logits, width),
        }
    }

    fn draw(&mut self, logits: &[f32], width: usize) -> Option<u32> {
        let mut likely = top(logits, width);
        let (_, most) = *likely.first()?;
        for (_, logit) in &mut likely {
            *logit = ((*logit - most) / self.temperature).exp();
        }
        let all: f32 = likely.iter().map(|(_, weight)| weight).sum();
        let mut kept = 0.0;
        let enough = likely.iter().position(|(_, weight)| {
            kept += weight;
            kept >= all * TOP_P
        });
        likely.truncate(enough.map_or(likely.len(), |last| last + 1));
        let mut rest = self.next() * likely.iter().map(|(_, weight)| weight).sum::<f32>();
        let drawn = likely.iter().find(|(_, weight)| {
            rest -= weight;
            rest <= 0.0
        });
        drawn.or(likely.first()).map(|(token, _)| *token)
    }

    /// Returns a number from zero to one (SplitMix64).
    #[expect(clippy::cast_precision_loss, reason = "24 bits fit into an f32 exactly")]
    fn next(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// Returns the likeliest tokens, the best first.
fn top(logits: &[f32], width: usize) -> Vec<(u32, f32)> {
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(width + 1);
    for (token, &logit) in (0_u32..).zip(logits) {
        let is_among =
            logit.is_finite() && (best.len() < width || best.last().is_some_and(|(_, least)| logit > *least));
        if is_among {
            let place = best.partition_point(|(_, other)| *other >= logit);
            best.insert(place, (token, logit));
            best.truncate(width);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGITS: [f32; 5] = [0.0, 3.0, f32::NEG_INFINITY, 2.9, f32::NAN];

    #[test]
    fn without_temperature_the_likeliest_token_is_chosen() {
        let mut sampler = Sampler::new(Sampling::default());
        assert_eq!(sampler.choose(&LOGITS), Some(1));
        assert_eq!(sampler.choose(&[f32::NEG_INFINITY; 3]), None);
    }

    #[test]
    fn with_temperature_allowed_tokens_are_drawn_by_the_seed() {
        let draw = |seed| -> Vec<Option<u32>> {
            let mut sampler = Sampler::new(Sampling { temperature: 1.0, seed });
            (0..64).map(|_| sampler.choose(&LOGITS)).collect()
        };
        let drawn = draw(7);
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
        assert!(drawn.contains(&Some(1)) && drawn.contains(&Some(3)));
        assert!(drawn.iter().all(|token| matches!(token, Some(0 | 1 | 3))));
    }

    #[test]
    fn an_invalid_temperature_counts_as_zero() {
        for temperature in [f32::NAN, f32::INFINITY, -1.0] {
            assert_eq!(Sampler::new(Sampling { temperature, seed: 3 }).choose(&LOGITS), Some(1));
        }
    }
}
