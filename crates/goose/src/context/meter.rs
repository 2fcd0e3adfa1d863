//! [`Meter`]: measures how full the context is. [`Budget`]: the limits for it. Compaction itself is in
//! `moderate`.

use goose_extension::{Message, MessageContent};
use goose_providers::Usage;

use super::tokens;

// Plausible ratio of a service's count to the estimate. Counts outside of it are clamped, as mistakes of the
// service.
const MIN_RATIO: f64 = 0.5;
const MAX_RATIO: f64 = 3.0;

/// Counts the tokens of a conversation: the service's last count, plus an estimate of the messages since
/// then. The cost of counting does not grow with the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    /// Estimated tokens of the system prompt and the tools.
    fixed: u64,
    /// Estimated tokens of all messages.
    estimated: u64,
    /// Last count of the service, with the estimate for the same messages.
    counted: Option<ServiceCount>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct ServiceCount {
    tokens: u64,
    estimated: u64,
}

impl Meter {
    /// Sets the tokens of the system prompt and the tools, which every request has.
    pub fn set_fixed(&mut self, fixed: u64) {
        self.fixed = fixed;
    }

    /// Adds a message.
    pub fn add(&mut self, message: &Message) {
        self.add_parts(&message.content);
    }

    /// Adds parts of a message.
    pub fn add_parts(&mut self, parts: &[MessageContent]) {
        self.estimated += tokens::of_parts(parts);
    }

    /// Sets the service's count for the last request and its answer, which must be
    /// [added](Self::add) first.
    pub fn count(&mut self, usage: &Usage) {
        // Some services report no count, or leave out cached tokens.
        if usage.input > 0 {
            let estimated = self.fixed + self.estimated;
            let believed = scaled(estimated, MIN_RATIO)..=scaled(estimated, MAX_RATIO);
            let tokens = usage.total().clamp(*believed.start(), *believed.end());
            self.counted = Some(ServiceCount { tokens, estimated });
        }
    }

    /// Restarts with other messages, as after compaction. Keeps the ratio of count to estimate.
    pub fn restart<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        let ratio = self.ratio();
        self.estimated = messages.into_iter().map(tokens::of_message).sum();
        let estimated = self.fixed + self.estimated;
        self.counted = self.counted.map(|_| ServiceCount { tokens: scaled(estimated, ratio), estimated });
    }

    /// Returns the approximate number of tokens of the next request.
    pub fn used(&self) -> u64 {
        let estimated = self.fixed + self.estimated;
        match self.counted {
            Some(counted) if estimated >= counted.estimated => {
                counted.tokens + (estimated - counted.estimated)
            }
            _ => estimated,
        }
    }

    /// Returns the tokens of a request with these messages, as this service would count them.
    pub fn would_use<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> u64 {
        let mut meter = self.clone();
        meter.restart(messages);
        meter.used()
    }

    /// Returns the tokens of a message alone, as this service would count them.
    pub fn weight(&self, message: &Message) -> u64 {
        scaled(tokens::of_message(message), self.ratio())
    }

    /// Returns the ratio of the service's count to the estimate.
    #[expect(clippy::cast_precision_loss, reason = "no count of tokens comes near 2^52")]
    fn ratio(&self) -> f64 {
        match self.counted {
            Some(counted) if counted.estimated > 0 => {
                (counted.tokens as f64 / counted.estimated as f64).clamp(MIN_RATIO, MAX_RATIO)
            }
            _ => 1.0,
        }
    }
}

/// Default threshold.
const DEFAULT_THRESHOLD: f64 = 0.8;
/// Maximum reserve for an answer, even if the model could write more.
const MAX_RESERVE: u64 = 32_000;
/// Share of the limit that is left after compaction. A lower share would lose more than necessary; a higher
/// one would soon be exceeded.
const GOAL: f64 = 0.5;

/// Limit of a model, and the part of it that the conversation may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Maximum number of tokens of a request with its answer.
    pub limit: u64,
    /// Tokens that are reserved for the answer.
    pub reserve: u64,
    /// Share of the limit above which the conversation is compacted. 0 or 1 switches compaction off.
    pub threshold: f64,
}

impl Budget {
    /// Returns a budget for a model that may write `answer` tokens.
    pub fn new(limit: u64, answer: Option<u64>, threshold: Option<f64>) -> Self {
        let reserve = answer.unwrap_or(limit / 10).min(MAX_RESERVE).min(limit / 4);
        Self { limit, reserve, threshold: threshold.unwrap_or(DEFAULT_THRESHOLD) }
    }

    /// Returns true if the conversation must be compacted before the next request.
    pub fn is_over(&self, used: u64) -> bool {
        let switched_off = self.threshold <= 0.0 || self.threshold >= 1.0;
        !switched_off && used > self.share(self.threshold).min(self.limit - self.reserve)
    }

    /// Returns true if a conversation and an answer fit without compaction.
    pub fn fits(&self, used: u64) -> bool {
        used <= self.limit - self.reserve && !self.is_over(used)
    }

    /// Returns the tokens that the conversation should have after compaction.
    pub fn goal(&self) -> u64 {
        self.share(GOAL.min(if self.threshold > 0.0 { self.threshold } else { GOAL }))
    }

    fn share(&self, part: f64) -> u64 {
        scaled(self.limit, part)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens are far below 2^52, and neither factor is negative"
)]
fn scaled(tokens: u64, ratio: f64) -> u64 {
    (tokens as f64 * ratio).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn the_services_count_wins_and_what_came_since_is_estimated() {
        let mut meter = Meter::default();
        meter.set_fixed(500);
        meter.add(&Message::user("a".repeat(400)));
        assert_eq!(meter.used(), 604);

        meter.count(&usage(900, 100));
        assert_eq!(meter.used(), 1000);

        meter.add(&Message::user("a".repeat(40)));
        assert_eq!(meter.used(), 1014);
    }

    #[test]
    fn after_a_restart_the_estimate_is_scaled_by_what_was_learnt() {
        let mut meter = Meter::default();
        meter.add(&Message::user("a".repeat(4000)));
        meter.count(&usage(2008, 0));

        let kept = Message::user("a".repeat(384));
        meter.restart([&kept]);

        assert_eq!(meter.used(), 200, "estimated as 100, and the service counts twice that");
    }

    #[test]
    fn a_count_far_off_the_estimate_is_not_believed() {
        let mut meter = Meter::default();
        meter.add(&Message::user("a".repeat(4_000)));

        meter.count(&usage(1, 0));
        assert_eq!(meter.used(), 502, "only what was not in a cache was counted");

        meter.count(&usage(1_000_000, 0));
        assert_eq!(meter.used(), 3_012);
    }

    #[test]
    fn a_service_that_counts_nothing_leaves_the_estimate() {
        let mut meter = Meter::default();
        meter.add(&Message::user("a".repeat(400)));
        meter.count(&usage(0, 0));

        assert_eq!(meter.used(), 104);
    }

    #[test]
    fn room_is_made_at_the_threshold_or_where_the_answer_would_not_fit() {
        let budget = Budget::new(100_000, Some(8_000), None);
        assert!(!budget.is_over(80_000));
        assert!(budget.is_over(80_001));

        let large_answers = Budget::new(100_000, Some(64_000), Some(0.95));
        assert_eq!(large_answers.reserve, 25_000);
        assert!(large_answers.is_over(75_001));
    }

    #[test]
    fn people_can_switch_it_off() {
        assert!(!Budget::new(1_000, None, Some(0.0)).is_over(5_000));
        assert!(!Budget::new(1_000, None, Some(1.0)).is_over(5_000));
        assert!(
            !Budget::new(1_000, None, Some(1.0)).fits(901) && Budget::new(1_000, None, Some(1.0)).fits(900)
        );
    }
}
