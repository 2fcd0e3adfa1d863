//! [`Meter`]: how full the context is.

use goose_extension::{Message, MessageContent};
use goose_providers::Usage;

use super::tokens;

/// What is believed of a service's count: wilder relations to the estimate are a mistake of the service.
const LEAST_RATIO: f64 = 0.5;
const MOST_RATIO: f64 = 3.0;

/// Counts the tokens of a conversation: what the service counted last, and an estimate of what has come since. Counting
/// costs nothing that grows with the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    /// The system prompt and the tools, estimated.
    fixed: u64,
    /// All messages, estimated.
    estimated: u64,
    /// What the service counted, and what was estimated of the same.
    counted: Option<Counted>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    tokens: u64,
    estimated: u64,
}

impl Meter {
    /// Notes what every request has: the system prompt and the tools.
    pub fn set_fixed(&mut self, fixed: u64) {
        self.fixed = fixed;
    }

    /// Notes a further message.
    pub fn add(&mut self, message: &Message) {
        self.add_parts(&message.content);
    }

    /// Notes what was added to a message.
    pub fn add_parts(&mut self, parts: &[MessageContent]) {
        self.estimated += tokens::of_parts(parts);
    }

    /// Notes what the service counted for the last request and its answer. The answer is to be
    /// [added](Self::add) first.
    pub fn count(&mut self, usage: &Usage) {
        // Some services count nothing, or leave out what they had in a cache.
        if usage.input > 0 {
            let estimated = self.fixed + self.estimated;
            let believed = scaled(estimated, LEAST_RATIO)..=scaled(estimated, MOST_RATIO);
            let tokens = usage.total().clamp(*believed.start(), *believed.end());
            self.counted = Some(Counted { tokens, estimated });
        }
    }

    /// Begins anew with other messages, as after compaction. What was learnt of the service's way to count stays.
    pub fn restart<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        let ratio = self.ratio();
        self.estimated = messages.into_iter().map(tokens::of_message).sum();
        let estimated = self.fixed + self.estimated;
        self.counted = self.counted.map(|_| Counted { tokens: scaled(estimated, ratio), estimated });
    }

    /// How many tokens the next request has, about.
    pub fn used(&self) -> u64 {
        let estimated = self.fixed + self.estimated;
        match self.counted {
            Some(counted) if estimated >= counted.estimated => {
                counted.tokens + (estimated - counted.estimated)
            }
            _ => estimated,
        }
    }

    /// How many tokens these messages would have, with everything around them, by this service's way to count.
    pub fn would_use<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> u64 {
        let mut meter = self.clone();
        meter.restart(messages);
        meter.used()
    }

    /// How many tokens a message has by itself, by this service's way to count.
    pub fn weight(&self, message: &Message) -> u64 {
        scaled(tokens::of_message(message), self.ratio())
    }

    /// How the service's count relates to the estimate.
    #[expect(clippy::cast_precision_loss, reason = "no count of tokens comes near 2^52")]
    fn ratio(&self) -> f64 {
        match self.counted {
            Some(counted) if counted.estimated > 0 => {
                (counted.tokens as f64 / counted.estimated as f64).clamp(LEAST_RATIO, MOST_RATIO)
            }
            _ => 1.0,
        }
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
}
