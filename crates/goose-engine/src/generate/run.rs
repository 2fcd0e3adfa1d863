//! [`Generator`]: the loop of one answer: feed what is new, choose a token, hand out its bytes, until the end.

use super::{
    grammar::{GenerateError, Grammar},
    loaded::{Listener, PROGRESS_TOKENS},
    sample::Sampler,
};
use crate::{EngineError, Model, Sequence};

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// It is complete.
    Complete,
    /// It may not get longer.
    TokenLimit,
    /// It only repeated itself.
    Repetition,
    /// It was cancelled.
    Cancelled,
}

/// The outcome of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Generation {
    /// Why it ended.
    pub end: EndReason,
    /// The number of tokens of the prompt.
    pub input: usize,
    /// The number of those that were known.
    pub cached: usize,
    /// The number of tokens that were written.
    pub output: usize,
}

/// One answer that is being written.
pub(super) struct Generator<'a> {
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
    pub(super) partial: Vec<u8>,
}

impl Generator<'_> {
    /// Writes the answer to `prompt`, of which `read` tokens are in the sequence already. Returns why it ended, and the
    /// number of its tokens.
    pub(super) fn write(
        mut self,
        prompt: &[u32],
        mut read: usize,
        listener: &mut dyn Listener,
    ) -> Result<(EndReason, usize), GenerateError> {
        let mut written: Vec<u32> = Vec::new();
        let mut repetition = Repetition::default();
        // All but the last part, out of which the answer comes.
        while prompt.len() - read > PROGRESS_TOKENS {
            listener.progress(read, prompt.len());
            if !self.feed(&prompt[read..read + PROGRESS_TOKENS], listener)? {
                return Ok((EndReason::Cancelled, 0));
            }
            read += PROGRESS_TOKENS;
        }
        let mut next = prompt[read..].to_vec();
        loop {
            let forced = self.forced()?;
            next.extend(&forced);
            written.extend(&forced);
            if let Some(end) = self.end_reason(&written, &mut repetition) {
                // The last tokens are fed with the next question, together with what follows them.
                self.emit(&forced, listener);
                return Ok((end, written.len()));
            }
            if !self.feed(&next, listener)? {
                return Ok((EndReason::Cancelled, written.len()));
            }
            // A listener that stops here leaves the whole question read.
            self.emit(&forced, listener);
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
                return Ok((EndReason::Complete, written.len()));
            }
            written.push(token);
            self.emit(&[token], listener);
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

    fn end_reason(&self, written: &[u32], repetition: &mut Repetition) -> Option<EndReason> {
        if self.grammar.as_ref().is_some_and(Grammar::is_complete) {
            return Some(EndReason::Complete);
        }
        if written.len() >= self.max_tokens {
            return Some(EndReason::TokenLimit);
        }
        repetition.is_looping(written).then_some(EndReason::Repetition)
    }

    /// Hands out whole characters; what is no character at all is shown as such.
    fn emit(&mut self, tokens: &[u32], listener: &mut dyn Listener) {
        let tokenizer = self.model.tokenizer();
        for token in tokens.iter().filter(|token| !tokenizer.is_special(**token)) {
            self.partial.extend_from_slice(tokenizer.bytes(*token));
        }
        let whole = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial.len(),
        };
        let rest = self.partial.split_off(whole);
        let text = std::mem::replace(&mut self.partial, rest);
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
    checked_len: usize,
}

impl Repetition {
    /// Returns whether the text loops, if it is time to check. A text may grow by several tokens at a time.
    fn is_looping(&mut self, tokens: &[u32]) -> bool {
        if tokens.len() < self.checked_len + CHECK_EVERY {
            return false;
        }
        self.checked_len = tokens.len();
        is_looping(tokens)
    }
}

/// Returns whether the end of the text repeats itself and nothing else.
fn is_looping(tokens: &[u32]) -> bool {
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
            !tokens.len().is_multiple_of(CHECK_EVERY) && repetition.is_looping(&tokens)
        });
        assert!(noticed);
    }

    #[test]
    fn circles_are_noticed_and_rows_are_not() {
        let circle: Vec<u32> = (0..40).cycle().take(40 * ROUNDS).collect();
        assert!(is_looping(&circle));
        assert!(is_looping(&[5; MIN_STRETCH]));
        assert!(!is_looping(&[5; MIN_STRETCH - 1]));
        let mut counted: Vec<u32> = Vec::new();
        for number in 0..60 {
            counted.extend([1, 2, 3, 100 + number]);
        }
        assert!(!is_looping(&counted));
        assert!(!is_looping(&[]));
    }
}
