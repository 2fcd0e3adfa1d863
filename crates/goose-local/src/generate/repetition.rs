//! Notices a text that goes round in circles. Small models do so, and would until their last token.

/// The longest circle that is noticed, in tokens.
const MAX_PERIOD: usize = 64;

/// How often a circle is gone round before it counts as one.
const ROUNDS: usize = 6;

/// How long all rounds are together at least: rows of a table and rulers of dashes repeat themselves too.
const MIN_STRETCH: usize = 96;

/// Whether the end of the text repeats itself and nothing else.
pub(super) fn goes_round(tokens: &[u32]) -> bool {
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
