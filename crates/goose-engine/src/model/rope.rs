//! Rotary positions: each pair of columns of a head is rotated by an angle that grows with the position.
//! Models whose context was extended scale the angles:
//!
//! ```text
//! plain    pair i rotates by base^(-2i/width) per position, divided by the pair's factor if the file has one
//! linear   all pairs rotate slower by one factor
//! yarn     pairs that rotate often within the original context are unchanged, pairs that hardly rotate are
//!          slower by the factor, pairs in between are mixed; the rotated values grow a little, which
//!          sharpens attention
//! ```

use super::config::Architecture;
use crate::EngineError;
use crate::gguf::Gguf;

/// Default number of rotations within the original context above which a pair is unchanged.
const FAST_TURNS: f64 = 32.0;
/// Default number of rotations within the original context below which a pair is slower by the whole
/// factor.
const SLOW_TURNS: f64 = 1.0;
/// Minimum width of the ramp between the two, against division by zero.
const NARROWEST_RAMP: f64 = 0.001;

/// Extension of the context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scaling {
    /// All pairs rotate slower; with a factor of one, none.
    Linear {
        factor: f64,
    },
    Yarn(Yarn),
}

/// Parameters of YaRN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Yarn {
    factor: f64,
    /// Context length before the extension.
    original_context: f64,
    /// Weight of the unchanged frequencies (`ext_factor`), which is 1 unless the file says otherwise.
    kept: f64,
    attention_factor: f64,
    fast: f64,
    slow: f64,
}

/// Rotation of each pair per position, and the growth of the rotated values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frequencies {
    pub(crate) pairs: Vec<f64>,
    pub(crate) magnitude: f64,
}

impl Scaling {
    /// Reads the scaling of a file of the architecture `name`.
    pub(crate) fn read(file: &Gguf, name: &str, context: usize) -> Result<Self, EngineError> {
        let number = |rest: &str| file.float(&format!("{name}.rope.{rest}"));
        let positive = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
        let factor = positive(number("scaling.factor")).or_else(|| positive(number("scale_linear")));
        let factor = factor.unwrap_or(1.0);
        match file.text(&format!("{name}.rope.scaling.type")) {
            Some("none") => Ok(Self::Linear { factor: 1.0 }),
            None | Some("linear") => Ok(Self::Linear { factor }),
            Some("yarn") => Ok(Self::Yarn(Yarn {
                factor,
                original_context: positive(number("scaling.original_context_length"))
                    .unwrap_or(context as f64),
                kept: number("scaling.yarn_ext_factor").filter(|kept| *kept >= 0.0).unwrap_or(1.0),
                attention_factor: positive(number("scaling.attn_factor"))
                    .or_else(|| positive(number("scaling.yarn_attn_factor")))
                    .unwrap_or(1.0),
                fast: positive(number("scaling.yarn_beta_fast")).unwrap_or(FAST_TURNS),
                slow: positive(number("scaling.yarn_beta_slow")).unwrap_or(SLOW_TURNS),
            })),
            Some(other) => Err(EngineError::Unsupported(format!("rope scaling `{other}` is not supported"))),
        }
    }

    /// Returns the frequencies of `width` columns. `factors` divide the frequencies of the pairs.
    pub(crate) fn frequencies(self, base: f64, width: usize, factors: Option<&[f32]>) -> Frequencies {
        let factor = |pair: usize| factors.map_or(1.0, |factors| f64::from(factors[pair]));
        let plain = (0..width / 2)
            .map(|pair| base.powf(-(2.0 * pair as f64) / width as f64) / factor(pair))
            .collect::<Vec<f64>>();
        match self {
            Self::Linear { factor } => {
                Frequencies { pairs: plain.iter().map(|turn| turn / factor).collect(), magnitude: 1.0 }
            }
            Self::Yarn(yarn) => {
                let mixed = |(pair, turn): (usize, &f64)| {
                    let kept = yarn.kept * yarn.kept_of(pair, base, width);
                    turn / yarn.factor * (1.0 - kept) + turn * kept
                };
                Frequencies {
                    pairs: plain.iter().enumerate().map(mixed).collect(),
                    magnitude: yarn.attention_factor * yarn.growth(),
                }
            }
        }
    }
}

impl Yarn {
    /// Returns the fractional index of the pair that rotates `turns` times within the original context.
    fn pair_turning(&self, turns: f64, base: f64, width: usize) -> f64 {
        let radians = turns * std::f64::consts::TAU;
        width as f64 * (self.original_context / radians).ln() / (2.0 * base.ln())
    }

    /// Returns the share of the original frequency: one for pairs that rotate fast, zero for slow ones.
    fn kept_of(&self, pair: usize, base: f64, width: usize) -> f64 {
        let first = self.pair_turning(self.fast, base, width).floor().max(0.0);
        let last = self.pair_turning(self.slow, base, width).ceil().min(width as f64 - 1.0);
        let along = (pair as f64 - first) / (last - first).max(NARROWEST_RAMP);
        1.0 - along.clamp(0.0, 1.0)
    }

    fn growth(&self) -> f64 {
        if self.kept == 0.0 { 1.0 } else { 1.0 + 0.1 * self.factor.ln() }
    }
}

/// Cosines and sines of the angles of a batch.
#[derive(Default)]
pub(crate) struct Rotation {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    pairs: usize,
}

impl Rotation {
    /// Computes the angles of `tokens` positions, starting at `position`.
    pub(crate) fn prepare(&mut self, frequencies: &Frequencies, position: usize, tokens: usize) {
        self.pairs = frequencies.pairs.len();
        self.cosines.clear();
        self.sines.clear();
        for token in 0..tokens {
            let position = (position + token) as f64;
            for frequency in &frequencies.pairs {
                let (sine, cosine) = (position * frequency).sin_cos();
                self.cosines.push((cosine * frequencies.magnitude) as f32);
                self.sines.push((sine * frequencies.magnitude) as f32);
            }
        }
    }

    /// Rotates one head of one token of the batch.
    pub(crate) fn rotate(&self, architecture: Architecture, token: usize, head: &mut [f32]) {
        let angles = |pair: usize| {
            let at = token * self.pairs + pair;
            (self.cosines[at], self.sines[at])
        };
        for pair in 0..self.pairs {
            // GGUF files of the Llama family pair neighbouring columns. The others pair the two halves of
            // a head.
            let (a, b) = match architecture {
                Architecture::Llama => (2 * pair, 2 * pair + 1),
                Architecture::Qwen2 | Architecture::Qwen3 => (pair, pair + self.pairs),
            };
            let (cosine, sine) = angles(pair);
            let (x, y) = (head[a], head[b]);
            head[a] = x * cosine - y * sine;
            head[b] = x * sine + y * cosine;
        }
    }
}
