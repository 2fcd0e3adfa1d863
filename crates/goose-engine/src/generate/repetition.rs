//! Notices a text that goes round in circles. Small models do so, and would until their last token.

/// The longest circle that is noticed, in tokens.
const MAX_PERIOD: usize = 64;

/// How often a circle is gone round before it counts as one.
const ROUNDS: usize = 6;

/// How long all rounds are together at least: rows of a table and rulers of dashes repeat themselves too.
const MIN_STRETCH: usize = 96;

/// How often it is looked, in tokens.
const CHECK_EVERY: usize = 16;

/// Looks at a growing text now and then.
#[derive(Default)]
pub(super) struct Repetition {
    /// How long the text was when it was last looked at.
    looked_at: usize,
}

impl Repetition {
    /// Whether the text goes round in circles, as far as it is time to look. A text may grow by several tokens at a time.
    pub(super) fn goes_round(&mut self, tokens: &[u32]) -> bool {
        if tokens.len() < self.looked_at + CHECK_EVERY {
            return false;
        }
        self.looked_at = tokens.len();
        goes_round(tokens)
    }
}

/// Whether the end of the text repeats itself and nothing else.
fn goes_round(tokens: &[u32]) -> bool {
    (1..=MAX_PERIOD).any(|period| {
        let stretch = MIN_STRETCH.max(period * ROUNDS);
        let Some(start) = tokens.len().checked_sub(stretch) else { return false };
        let tail = &tokens[start..];
        tail[period..].iter().zip(tail).all(|(now, before)| now == before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_grows_in_odd_steps_is_looked_at_too() {
        let (mut repetition, mut tokens) = (Repetition::default(), Vec::new());
        let noticed = (0..40).any(|_| {
            tokens.extend([7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9]);
            !tokens.len().is_multiple_of(CHECK_EVERY) && repetition.goes_round(&tokens)
        });
        assert!(noticed);
    }

    #[test]
    fn circles_are_noticed_and_rows_are_not() {
        let circle: Vec<u32> = (0..40).cycle().take(40 * ROUNDS).collect();
        assert!(goes_round(&circle));
        assert!(goes_round(&[5; MIN_STRETCH]));
        assert!(!goes_round(&[5; MIN_STRETCH - 1]));
        let mut counted: Vec<u32> = Vec::new();
        for number in 0..60 {
            counted.extend([1, 2, 3, 100 + number]);
        }
        assert!(!goes_round(&counted));
        assert!(!goes_round(&[]));
    }
}
