//! [`Budget`]: how full the context may get.

/// When room is made before the model is asked, where nobody says otherwise.
const DEFAULT_THRESHOLD: f64 = 0.8;
/// The most that is kept free for the answer where the model's own greatest answer is larger.
const MAX_RESERVE: u64 = 32_000;
/// How full the context is after room was made, at most: less would lose more than it must, more would be soon over.
const GOAL: f64 = 0.5;

/// A model's limit, and how much of it the conversation may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// How many tokens a request may have together with its answer.
    pub limit: u64,
    /// What is kept free for the answer.
    pub reserve: u64,
    /// How much of the limit may be used before room is made. Nothing or everything switches that off.
    pub threshold: f64,
}

impl Budget {
    /// A budget for a model that may write `answer` tokens.
    pub fn new(limit: u64, answer: Option<u64>, threshold: Option<f64>) -> Self {
        let reserve = answer.unwrap_or(limit / 10).min(MAX_RESERVE).min(limit / 4);
        Self { limit, reserve, threshold: threshold.unwrap_or(DEFAULT_THRESHOLD) }
    }

    /// Whether room must be made before the model is asked.
    pub fn is_over(&self, used: u64) -> bool {
        let switched_off = self.threshold <= 0.0 || self.threshold >= 1.0;
        !switched_off && used > self.share(self.threshold).min(self.limit - self.reserve)
    }

    /// How many tokens the conversation should have when room was made.
    pub fn goal(&self) -> u64 {
        self.share(GOAL.min(if self.threshold > 0.0 { self.threshold } else { GOAL }))
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens are far below 2^52, and no share is negative"
    )]
    fn share(&self, part: f64) -> u64 {
        (self.limit as f64 * part) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
