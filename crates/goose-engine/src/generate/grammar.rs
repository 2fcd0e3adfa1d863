//! [`Grammar`]: what may be written next, so that the whole has the form that was asked for.

use llguidance::{Matcher, api::TopLevelGrammar};

use super::{error::GenerateError, vocabulary::Vocabulary};

/// How many of the likeliest tokens are looked at one by one before the mask of all tokens is made.
const TRIES: usize = 24;

/// One document that is being written.
pub(super) struct Grammar {
    matcher: Matcher,
}

impl Grammar {
    /// A text of a grammar in the notation of Lark.
    pub(super) fn of(vocabulary: &Vocabulary, grammar: String) -> Result<Self, GenerateError> {
        let grammar = TopLevelGrammar::from_lark(grammar);
        let parser =
            vocabulary.factory.create_parser(grammar).map_err(|error| GenerateError::grammar(&error))?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(GenerateError::Grammar(error)),
            None => Ok(Self { matcher }),
        }
    }

    /// Whether the document is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.matcher.is_stopped()
    }

    /// The tokens that come next whatever the model thinks, taken as written.
    pub(super) fn forced(&mut self) -> Result<Vec<u32>, GenerateError> {
        let tokens = self.matcher.compute_ff_tokens();
        self.take(&tokens)?;
        Ok(tokens)
    }

    /// Takes tokens as written.
    pub(super) fn take(&mut self, tokens: &[u32]) -> Result<(), GenerateError> {
        self.matcher.consume_tokens(tokens).map_err(|error| GenerateError::grammar(&error))
    }

    /// Leaves in `logits` only what may come next, as far as `wanted` of the likeliest need it. The likeliest token is
    /// nearly always one that may come, so looking at a few costs next to nothing where the mask of all would cost more.
    pub(super) fn narrow(&mut self, logits: &mut [f32], wanted: usize) -> Result<(), GenerateError> {
        for _ in 0..TRIES {
            let Some(best) = likeliest(logits) else { break };
            if self.may_be_next(best)? {
                if wanted <= 1 {
                    return Ok(());
                }
                break;
            }
            if let Some(logit) = logits.get_mut(best as usize) {
                *logit = f32::NEG_INFINITY;
            }
        }
        self.mask(logits)
    }

    fn may_be_next(&mut self, token: u32) -> Result<bool, GenerateError> {
        let valid = self.matcher.validate_tokens(&[token]).map_err(|error| GenerateError::grammar(&error))?;
        Ok(valid == 1)
    }

    fn mask(&mut self, logits: &mut [f32]) -> Result<(), GenerateError> {
        let mask = self.matcher.compute_mask_or_eos().map_err(|error| GenerateError::grammar(&error))?;
        for (token, logit) in logits.iter_mut().enumerate() {
            if token >= mask.len() || !mask.get(token) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }
}

/// The token with the highest logit that is a number; none where nothing is left.
pub(super) fn likeliest(logits: &[f32]) -> Option<u32> {
    let mut best: Option<(usize, f32)> = None;
    for (token, &logit) in logits.iter().enumerate() {
        if logit > best.map_or(f32::NEG_INFINITY, |(_, most)| most) {
            best = Some((token, logit));
        }
    }
    best.and_then(|(token, _)| u32::try_from(token).ok())
}
