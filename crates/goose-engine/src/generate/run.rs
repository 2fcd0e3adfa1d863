//! [`Writing`]: the loop of one answer: feed what is new, choose a token, hand out its bytes, until the end.

use super::{
    grammar::{GenerateError, Grammar},
    loaded::{Listener, PROGRESS_TOKENS},
    sample::Sampler,
};
use crate::{EngineError, Model, Sequence};

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is complete.
    Complete,
    /// It may not get longer.
    TooLong,
    /// It only repeated itself.
    GoesRound,
    /// It was cancelled.
    Cancelled,
}

/// The outcome of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Generated {
    /// Why it ended.
    pub ended: Ended,
    /// The number of tokens of the prompt.
    pub input: usize,
    /// The number of those that were known.
    pub known: usize,
    /// The number of tokens that were written.
    pub output: usize,
}

/// One answer that is being written.
pub(super) struct Writing<'a> {
    /// The model.
    pub(super) model: &'a Model,
    /// The conversation so far. The answer is added to it.
    pub(super) sequence: &'a mut Sequence,
    /// The grammar of the answer; none for free text.
    pub(super) grammar: Option<Grammar>,
    /// The choice among likely tokens.
    pub(super) sampler: Sampler,
    /// A token that is made likelier as the first one, and by how much.
    pub(super) favoured: Option<(u32, f32)>,
    /// The most tokens of the answer.
    pub(super) max_tokens: usize,
    /// The beginning of a character whose rest is still to come.
    pub(super) begun: Vec<u8>,
}

impl Writing<'_> {
    /// Writes the answer to `prompt`, of which `read` tokens are in the sequence already. Returns why it ended, and the
    /// number of its tokens.
    pub(super) fn write(
        mut self,
        prompt: &[u32],
        mut read: usize,
        listener: &mut dyn Listener,
    ) -> Result<(Ended, usize), GenerateError> {
        let mut written: Vec<u32> = Vec::new();
        let mut repetition = Repetition::default();
        // All but the last part, out of which the answer comes.
        while prompt.len() - read > PROGRESS_TOKENS {
            listener.progress(read, prompt.len());
            if !self.feed(&prompt[read..read + PROGRESS_TOKENS], listener)? {
                return Ok((Ended::Cancelled, 0));
            }
            read += PROGRESS_TOKENS;
        }
        let mut next = prompt[read..].to_vec();
        loop {
            let forced = self.forced()?;
            next.extend(&forced);
            written.extend(&forced);
            if let Some(ended) = self.end(&written, &mut repetition) {
                // The last tokens are fed with the next question, together with what follows them.
                self.hand_out(&forced, listener);
                return Ok((ended, written.len()));
            }
            if !self.feed(&next, listener)? {
                return Ok((Ended::Cancelled, written.len()));
            }
            // A listener that stops here leaves the whole question read.
            self.hand_out(&forced, listener);
            let mut logits = self.sequence.logits().to_vec();
            if let Some((token, by)) = self.favoured.take() {
                logits[token as usize] += by;
            }
            let Some(token) = self.choose(&mut logits)? else {
                return Err(GenerateError::Grammar("no token may come next".to_owned()));
            };
            next = vec![token];
            // A grammar lets it come only where its document may end.
            if self.model.tokenizer().end_of_turn().contains(&token) {
                return Ok((Ended::Complete, written.len()));
            }
            written.push(token);
            self.hand_out(&[token], listener);
        }
    }

    /// Reads tokens; false if the answer is not wanted any more.
    fn feed(&mut self, tokens: &[u32], listener: &dyn Listener) -> Result<bool, EngineError> {
        match self.sequence.feed(tokens, &|| listener.is_cancelled()) {
            Ok(_) => Ok(true),
            Err(EngineError::Cancelled) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn forced(&mut self) -> Result<Vec<u32>, GenerateError> {
        self.grammar.as_mut().map_or_else(|| Ok(Vec::new()), Grammar::forced)
    }

    fn choose(&mut self, logits: &mut [f32]) -> Result<Option<u32>, GenerateError> {
        // Tables are padded: logits beyond the vocabulary are no tokens.
        let known = logits.len().min(self.model.tokenizer().len());
        let logits = &mut logits[..known];
        if let Some(grammar) = &mut self.grammar {
            grammar.narrow(logits, self.sampler.width())?;
        }
        let token = self.sampler.choose(logits);
        if let (Some(grammar), Some(token)) = (&mut self.grammar, token) {
            grammar.take(&[token])?;
        }
        Ok(token)
    }

    fn end(&self, written: &[u32], repetition: &mut Repetition) -> Option<Ended> {
        if self.grammar.as_ref().is_some_and(Grammar::is_complete) {
            return Some(Ended::Complete);
        }
        if written.len() >= self.max_tokens {
            return Some(Ended::TooLong);
        }
        repetition.goes_round(written).then_some(Ended::GoesRound)
    }

    /// Hands out whole characters; what is no character at all is shown as such.
    fn hand_out(&mut self, tokens: &[u32], listener: &mut dyn Listener) {
        let tokenizer = self.model.tokenizer();
        for token in tokens.iter().filter(|token| !tokenizer.is_special(**token)) {
            self.begun.extend_from_slice(tokenizer.bytes(*token));
        }
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, rest);
        if !text.is_empty() {
            listener.text(&String::from_utf8_lossy(&text));
        }
    }
}

/// The longest circle that is noticed, in tokens.
const MAX_PERIOD: usize = 64;

/// The repetitions that count as a loop.
const ROUNDS: usize = 6;

/// The least length of all repetitions together: rows of a table and rulers of dashes repeat themselves too.
const MIN_STRETCH: usize = 96;

/// The tokens between two checks.
const CHECK_EVERY: usize = 16;

/// Looks at a growing text now and then.
#[derive(Default)]
struct Repetition {
    /// The length of the text at the last check.
    looked_at: usize,
}

impl Repetition {
    /// Returns whether the text loops, if it is time to check. A text may grow by several tokens at a time.
    fn goes_round(&mut self, tokens: &[u32]) -> bool {
        if tokens.len() < self.looked_at + CHECK_EVERY {
            return false;
        }
        self.looked_at = tokens.len();
        goes_round(tokens)
    }
}

/// Returns whether the end of the text repeats itself and nothing else.
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
