//! [`Grammar`]: restricts an answer to a form. [`Vocabulary`]: the model's tokens as a trie, in which a
//! grammar finds the tokens that may come next.

use std::sync::Arc;

use llguidance::{
    Matcher, ParserFactory,
    api::TopLevelGrammar,
    toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv},
};
use thiserror::Error;

use crate::{EngineError, Model};

/// Failure to write an answer.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The grammar cannot be used, or the text does not follow it.
    #[error("the answer cannot be restricted to its form: {0}")]
    Grammar(String),
    /// The template of the model's file cannot be used.
    #[error("the chat template of the model cannot be used: {0}")]
    Template(String),
}

impl GenerateError {
    fn grammar(error: impl std::fmt::Display) -> Self {
        Self::Grammar(error.to_string())
    }
}

/// Maximum size of a grammar. The schemas of tools are untrusted.
const MAX_GRAMMAR_SYMBOLS: usize = 100_000;

/// Tokens of one model, prepared for grammars. This visits every token, so it is done once per model, and
/// only if a grammar is used.
pub(super) struct Vocabulary {
    factory: ParserFactory,
}

impl Vocabulary {
    pub(super) fn new(model: &Arc<Model>) -> Result<Self, GenerateError> {
        let trie = trie(model);
        let tokens: TokEnv = Arc::new(Tokens { model: Arc::clone(model), trie });
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        // No slices: they make the mask of all tokens cheaper, but `narrow` rarely needs that mask.
        let mut factory = ParserFactory::new(&tokens, capabilities, &[]).map_err(GenerateError::grammar)?;
        factory.quiet();
        let limits = factory.limits_mut();
        limits.max_grammar_size = MAX_GRAMMAR_SYMBOLS;
        limits.precompute_large_lexemes = false;
        limits.verbose_errors = false;
        Ok(Self { factory })
    }
}

/// Tokenizer of the model, for the grammar library.
struct Tokens {
    model: Arc<Model>,
    trie: TokTrie,
}

impl TokenizerEnv for Tokens {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        // Forced text continues the text before it.
        let tokenizer = self.model.tokenizer();
        self.trie.tokenize_with_greedy_fallback(bytes, |text| tokenizer.encode_continuation(text))
    }
}

fn trie(model: &Model) -> TokTrie {
    let tokenizer = model.tokenizer();
    let count = u32::try_from(tokenizer.len()).unwrap_or(u32::MAX);
    let words: Vec<Vec<u8>> = (0..count)
        .map(|token| match tokenizer.is_special(token) {
            // The library recognizes a special token by a byte that no text has.
            true => [&[TokTrie::SPECIAL_TOKEN_MARKER], tokenizer.bytes(token)].concat(),
            false => tokenizer.bytes(token).to_vec(),
        })
        .collect();
    let ends = tokenizer.end_of_turn();
    let trie = TokTrie::from(&TokRxInfo::new(count, ends.first().copied().unwrap_or_default()), &words);
    if ends.is_empty() { trie } else { trie.with_eos_tokens(ends) }
}

/// Number of likely tokens that are tried one by one before the mask of all tokens is computed.
const TRIES: usize = 24;

/// State of a document that is being written.
pub(super) struct Grammar {
    matcher: Matcher,
}

impl Grammar {
    /// Starts a document. The grammar is in Lark notation.
    pub(super) fn new(vocabulary: &Vocabulary, grammar: String) -> Result<Self, GenerateError> {
        let grammar = TopLevelGrammar::from_lark(grammar);
        let parser = vocabulary.factory.create_parser(grammar).map_err(GenerateError::grammar)?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(GenerateError::Grammar(error)),
            None => Ok(Self { matcher }),
        }
    }

    /// Returns true if the document is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.matcher.is_stopped()
    }

    /// Returns the tokens that the grammar forces next, and accepts them.
    pub(super) fn forced(&mut self) -> Result<Vec<u32>, GenerateError> {
        let tokens = self.matcher.compute_ff_tokens();
        self.take(&tokens)?;
        Ok(tokens)
    }

    /// Accepts tokens as the next part of the document.
    pub(super) fn take(&mut self, tokens: &[u32]) -> Result<(), GenerateError> {
        self.matcher.consume_tokens(tokens).map_err(GenerateError::grammar)
    }

    /// Removes forbidden tokens from `logits`, as far as the choice among the `wanted` likeliest needs
    /// it. The likeliest token is nearly always allowed, and checking a few tokens is much cheaper than
    /// computing the mask of all.
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
        let valid = self.matcher.validate_tokens(&[token]).map_err(GenerateError::grammar)?;
        Ok(valid == 1)
    }

    fn mask(&mut self, logits: &mut [f32]) -> Result<(), GenerateError> {
        let mask = self.matcher.compute_mask_or_eos().map_err(GenerateError::grammar)?;
        for (token, logit) in logits.iter_mut().enumerate() {
            if token >= mask.len() || !mask.get(token) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }
}

/// Returns the token with the highest logit. Ignores NaN; none if all are excluded.
pub(super) fn likeliest(logits: &[f32]) -> Option<u32> {
    let mut best: Option<(usize, f32)> = None;
    for (token, &logit) in logits.iter().enumerate() {
        if logit > best.map_or(f32::NEG_INFINITY, |(_, most)| most) {
            best = Some((token, logit));
        }
    }
    best.and_then(|(token, _)| u32::try_from(token).ok())
}
