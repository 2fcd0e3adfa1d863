//! [`Writing`]: the loop of one answer: feed what is new, choose a token, hand out its bytes, until the end.

use super::{error::GenerateError, grammar::Grammar, repetition::Repetition, sample::Sampler};
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
    /// Nobody wants it any more.
    Cancelled,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Generated {
    /// Why it ended.
    pub ended: Ended,
    /// How many tokens were written.
    pub tokens: usize,
}

/// One answer that is being written.
pub(super) struct Writing<'a> {
    /// The model.
    pub(super) model: &'a Model,
    /// The conversation so far. The answer is added to it.
    pub(super) sequence: &'a mut Sequence,
    /// What the answer must fit; none for free text.
    pub(super) grammar: Option<Grammar>,
    /// How words are chosen.
    pub(super) sampler: Sampler,
    /// How long it may get.
    pub(super) max_tokens: usize,
}

impl Writing<'_> {
    /// Writes the answer to `prompt`, which is what of the conversation is not in the sequence yet. Bytes are handed out
    /// as they come; a character may come in pieces. Each token asks first whether the answer is still wanted.
    pub(super) fn write(
        mut self,
        prompt: &[u32],
        is_cancelled: &dyn Fn() -> bool,
        hand_out: &mut dyn FnMut(&[u8]),
    ) -> Result<Generated, GenerateError> {
        let mut written: Vec<u32> = Vec::new();
        let mut repetition = Repetition::default();
        let mut next = prompt.to_vec();
        loop {
            let forced = self.forced()?;
            next.extend(&forced);
            written.extend(&forced);
            self.hand_out(&forced, hand_out);
            if let Some(ended) = self.end(&written, &mut repetition) {
                // The last tokens are fed with the next question, together with what follows them.
                return Ok(Generated { ended, tokens: written.len() });
            }
            let logits = match self.sequence.feed(&next, is_cancelled) {
                Ok(logits) => logits,
                Err(EngineError::Cancelled) => return Ok(cancelled(written.len())),
                Err(error) => return Err(error.into()),
            };
            let mut logits = logits.to_vec();
            let Some(token) = self.choose(&mut logits)? else {
                return Err(GenerateError::Grammar("no token may come next".to_owned()));
            };
            next = vec![token];
            if self.grammar.is_none() && self.model.tokenizer().end_of_turn().contains(&token) {
                return Ok(Generated { ended: Ended::Complete, tokens: written.len() });
            }
            written.push(token);
            self.hand_out(&[token], hand_out);
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

    fn hand_out(&self, tokens: &[u32], hand_out: &mut dyn FnMut(&[u8])) {
        for token in tokens {
            let bytes = self.model.tokenizer().bytes(*token);
            if !bytes.is_empty() && !self.model.tokenizer().is_special(*token) {
                hand_out(bytes);
            }
        }
    }
}

fn cancelled(tokens: usize) -> Generated {
    Generated { ended: Ended::Cancelled, tokens }
}
