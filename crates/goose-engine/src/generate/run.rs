//! [`Generator`]: the loop of one answer. Feeds new tokens, chooses the next one, emits its bytes, until
//! the end.

use super::{
    grammar::{GenerateError, Grammar},
    loaded::{Listener, PROGRESS_TOKENS},
    sample::Sampler,
};
use crate::{EngineError, Model, Sequence};

/// Reason for the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The answer is complete.
    Complete,
    /// The maximum number of tokens is reached.
    TokenLimit,
    /// The answer repeats itself.
    Repetition,
    /// The listener cancelled the answer.
    Cancelled,
}

/// Outcome of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Generation {
    /// Reason for the end.
    pub end: EndReason,
    /// Number of tokens of the prompt.
    pub input: usize,
    /// Number of prompt tokens whose state was reused.
    pub cached: usize,
    /// Number of tokens of the answer.
    pub output: usize,
}

/// Answer that is being written.
pub(super) struct Generator<'a> {
    /// Model that computes the logits.
    pub(super) model: &'a Model,
    /// Conversation so far. The answer is added to it.
    pub(super) sequence: &'a mut Sequence,
    /// Grammar of the answer; none for free text.
    pub(super) grammar: Option<Grammar>,
    /// Choice among likely tokens.
    pub(super) sampler: Sampler,
    /// Preferred first token, and the bonus on its logit.
    pub(super) favoured: Option<(u32, f32)>,
    /// Maximum number of tokens of the answer.
    pub(super) max_tokens: usize,
    /// Bytes of an incomplete character.
    pub(super) partial: Vec<u8>,
}

impl Generator<'_> {
    /// Writes the answer to `prompt`, of which `read` tokens are already in the sequence. Returns the
    /// reason for its end, and its number of tokens.
    pub(super) fn write(
        mut self,
        prompt: &[u32],
        mut read: usize,
        listener: &mut dyn Listener,
    ) -> Result<(EndReason, usize), GenerateError> {
        let mut written: Vec<u32> = Vec::new();
        let mut repetition = Repetition::default();
        // The last part stays: the logits after it start the answer.
        while prompt.len() - read > PROGRESS_TOKENS {
            listener.progress(read, prompt.len());
            if !self.feed(&prompt[read..read + PROGRESS_TOKENS], listener)? {
                return Ok((EndReason::Cancelled, 0));
            }
            read += PROGRESS_TOKENS;
        }
        let mut next = prompt[read..].to_vec();
        loop {
            let forced = self.grammar.as_mut().map(Grammar::forced).transpose()?.unwrap_or_default();
            next.extend(&forced);
            written.extend(&forced);
            if let Some(end) = self.end_reason(&written, &mut repetition) {
                // The last tokens are not fed now, but with the next question.
                self.emit(&forced, listener);
                return Ok((end, written.len()));
            }
            if !self.feed(&next, listener)? {
                return Ok((EndReason::Cancelled, written.len()));
            }
            // Emitted after the feed, so that a listener that stops here leaves the whole question
            // computed.
            self.emit(&forced, listener);
            let mut logits = self.sequence.logits().to_vec();
            if let Some((token, by)) = self.favoured.take() {
                logits[token as usize] += by;
            }
            let Some(token) = self.choose(&mut logits)? else {
                return Err(GenerateError::Grammar("no token is allowed next".to_owned()));
            };
            next = vec![token];
            // A grammar allows an end-of-turn token only at a possible end of its document.
            if self.model.tokenizer().end_of_turn().contains(&token) {
                return Ok((EndReason::Complete, written.len()));
            }
            written.push(token);
            self.emit(&[token], listener);
        }
    }

    /// Computes tokens. Returns false if the listener cancels.
    fn feed(&mut self, tokens: &[u32], listener: &dyn Listener) -> Result<bool, EngineError> {
        match self.sequence.feed(tokens, &|| listener.is_cancelled()) {
            Ok(_) => Ok(true),
            Err(EngineError::Cancelled) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn choose(&mut self, logits: &mut [f32]) -> Result<Option<u32>, GenerateError> {
        // Embedding tables are padded: logits beyond the vocabulary are not tokens.
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

    /// Emits complete characters. Invalid UTF-8 becomes replacement characters.
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

/// Maximum length of a repeated sequence, in tokens.
const MAX_PERIOD: usize = 64;

/// Number of repetitions that count as a loop.
const ROUNDS: usize = 6;

/// Minimum length of all repetitions together. Rows of a table and lines of dashes repeat themselves,
/// too.
const MIN_STRETCH: usize = 96;

/// Number of tokens between two checks.
const CHECK_EVERY: usize = 16;

/// Periodic check for repetition.
#[derive(Default)]
struct Repetition {
    /// Length of the text at the last check.
    checked_len: usize,
}

impl Repetition {
    /// Returns true if a check is due and the text repeats itself. A text may grow by several tokens at a
    /// time.
    fn is_looping(&mut self, tokens: &[u32]) -> bool {
        if tokens.len() < self.checked_len + CHECK_EVERY {
            return false;
        }
        self.checked_len = tokens.len();
        is_looping(tokens)
    }
}

/// Returns true if the end of the text consists only of repetitions.
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
    fn repetition_is_noticed_at_any_step_size() {
        let (mut repetition, mut tokens) = (Repetition::default(), Vec::new());
        let noticed = (0..40).any(|_| {
            tokens.extend([7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9]);
            !tokens.len().is_multiple_of(CHECK_EVERY) && repetition.is_looping(&tokens)
        });
        assert!(noticed);
    }

    #[test]
    fn loops_are_noticed_and_tables_are_not() {
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
