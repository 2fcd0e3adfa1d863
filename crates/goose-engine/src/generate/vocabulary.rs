//! [`Vocabulary`]: a model's tokens as a tree of bytes, in which a grammar looks for those that may come next.

use std::sync::Arc;

use llguidance::{
    ParserFactory,
    toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv},
};

use super::error::GenerateError;
use crate::Model;

/// How much of a grammar is accepted: schemas of tools come from anywhere.
const MAX_GRAMMAR_SYMBOLS: usize = 100_000;

/// The tokens of one model, ready for grammars. Building it looks at every token, so it is done once per model and only
/// where a grammar is used.
pub(super) struct Vocabulary {
    pub(super) factory: ParserFactory,
}

impl Vocabulary {
    pub(super) fn of(model: &Arc<Model>) -> Result<Self, GenerateError> {
        let trie = trie(model);
        let tokens: TokEnv = Arc::new(Tokens { model: Arc::clone(model), trie });
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        // No slices: they make the mask of all tokens cheap, and here single tokens are looked at before that is needed.
        let mut factory =
            ParserFactory::new(&tokens, capabilities, &[]).map_err(|error| GenerateError::grammar(&error))?;
        factory.quiet();
        let limits = factory.limits_mut();
        limits.max_grammar_size = MAX_GRAMMAR_SYMBOLS;
        limits.precompute_large_lexemes = false;
        limits.verbose_errors = false;
        Ok(Self { factory })
    }
}

/// The model's tokenizer, as the library asks for it.
struct Tokens {
    model: Arc<Model>,
    trie: TokTrie,
}

impl TokenizerEnv for Tokens {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        // What a grammar forces goes on from what was written before it.
        let tokenizer = self.model.tokenizer();
        self.trie.tokenize_with_greedy_fallback(bytes, |text| tokenizer.encode_continuation(text))
    }
}

fn trie(model: &Model) -> TokTrie {
    let tokenizer = model.tokenizer();
    let count = u32::try_from(tokenizer.len()).unwrap_or(u32::MAX);
    let words: Vec<Vec<u8>> = (0..count)
        .map(|token| match tokenizer.is_special(token) {
            true => marked(tokenizer.bytes(token)),
            false => tokenizer.bytes(token).to_vec(),
        })
        .collect();
    let end = tokenizer.end_of_turn().first().copied().unwrap_or_default();
    TokTrie::from(&TokRxInfo::new(count, end), &words)
}

/// The library tells special tokens from text by their first byte, which no text has.
fn marked(name: &[u8]) -> Vec<u8> {
    let mut marked = vec![TokTrie::SPECIAL_TOKEN_MARKER];
    marked.extend_from_slice(name);
    marked
}
