//! Text to tokens and back, from what the model's file says about its vocabulary.
//!
//! - `vocabulary`: tokens and their bytes; `classes` and `split`: how text is cut into words;
//! - `bpe`: byte-level pair merging (Qwen, Llama 3, SmolLM); `sentencepiece`: the older Llamas.

mod bpe;
mod classes;
mod sentencepiece;
mod split;
mod vocabulary;

use std::collections::HashMap;

use self::bpe::Bpe;
use self::sentencepiece::SentencePiece;
use self::vocabulary::{Role, Vocabulary};
use crate::EngineError;
use crate::gguf::Gguf;

/// Tokens that end a turn or a text in the families that are known.
const ENDS: [&str; 7] =
    ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>"];

/// Turns text into tokens and back.
pub struct Tokenizer {
    vocabulary: Vocabulary,
    method: Method,
    special: HashMap<Vec<u8>, u32>,
    /// Tokens that are found in any text as a whole, the longest first.
    user_defined: Vec<u32>,
    ends: Vec<u32>,
    beginning: Option<u32>,
}

enum Method {
    Bpe(Bpe),
    SentencePiece(SentencePiece),
}

impl Tokenizer {
    pub(crate) fn read(file: &Gguf) -> Result<Self, EngineError> {
        let (vocabulary, method) = match file.text("tokenizer.ggml.model") {
            Some("gpt2") => {
                let alphabet = bpe::alphabet();
                let decode = |text: &[u8], role, out: &mut Vec<u8>| bpe::decode(&alphabet, text, role, out);
                let vocabulary = Vocabulary::read(file, decode)?;
                let bpe = Bpe::read(file, &vocabulary)?;
                (vocabulary, Method::Bpe(bpe))
            }
            Some("llama") => {
                let vocabulary = Vocabulary::read(file, sentencepiece::decode)?;
                let pieces = SentencePiece::read(file, &vocabulary)?;
                (vocabulary, Method::SentencePiece(pieces))
            }
            other => {
                let name = other.unwrap_or("none");
                return Err(EngineError::Unsupported(format!("its tokenizer is `{name}`")));
            }
        };
        Ok(Self::assemble(file, vocabulary, method))
    }

    fn assemble(file: &Gguf, vocabulary: Vocabulary, method: Method) -> Self {
        let mut special = HashMap::new();
        for role in [Role::Control, Role::UserDefined, Role::Unknown] {
            for token in vocabulary.with_role(role) {
                special.entry(vocabulary.bytes(token).to_vec()).or_insert(token);
            }
        }
        let mut user_defined: Vec<u32> = vocabulary
            .with_role(Role::UserDefined)
            .filter(|token| !vocabulary.bytes(*token).is_empty())
            .collect();
        user_defined.sort_by_key(|token| std::cmp::Reverse(vocabulary.bytes(*token).len()));
        let id = |key: &str| {
            let id = file.unsigned(key).and_then(|id| u32::try_from(id).ok());
            id.filter(|id| (*id as usize) < vocabulary.len())
        };
        let named = ENDS.iter().filter_map(|name| special.get(name.as_bytes()).copied());
        let mut ends: Vec<u32> = named.collect();
        ends.extend(id("tokenizer.ggml.eos_token_id"));
        ends.extend(id("tokenizer.ggml.eot_token_id"));
        ends.sort_unstable();
        ends.dedup();
        let begins_by_default = matches!(method, Method::SentencePiece(_))
            || matches!(file.text("tokenizer.ggml.pre"), Some("llama-bpe" | "llama3" | "llama-v3"));
        let begins = file.flag("tokenizer.ggml.add_bos_token").unwrap_or(begins_by_default);
        let beginning = id("tokenizer.ggml.bos_token_id").filter(|_| begins);
        Self { vocabulary, method, special, user_defined, ends, beginning }
    }

    /// The tokens of a text. Control tokens are never made from text, whatever it says.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut out = Vec::new();
        let mut rest = text;
        while let Some((at, token)) = self.next_user_defined(rest) {
            self.encode_plain(&rest[..at], &mut out);
            out.push(token);
            rest = &rest[at + self.vocabulary.bytes(token).len()..];
        }
        self.encode_plain(rest, &mut out);
        out
    }

    fn encode_plain(&self, text: &str, out: &mut Vec<u32>) {
        match &self.method {
            Method::Bpe(bpe) => bpe.encode(&self.vocabulary, text, out),
            Method::SentencePiece(pieces) => pieces.encode(&self.vocabulary, text, out),
        }
    }

    /// The first place in the text that is a token as a whole.
    fn next_user_defined(&self, text: &str) -> Option<(usize, u32)> {
        let places = self.user_defined.iter().filter_map(|token| {
            let name = std::str::from_utf8(self.vocabulary.bytes(*token)).ok()?;
            Some((text.find(name)?, *token))
        });
        places.min_by_key(|(at, _)| *at)
    }

    /// The control or user-defined token that is written so.
    pub fn special(&self, text: &str) -> Option<u32> {
        self.special.get(text.as_bytes()).copied()
    }

    /// The bytes that a token stands for; a character may be spread over several tokens.
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.vocabulary.bytes(token)
    }

    /// Whether a token is structure rather than text.
    pub fn is_special(&self, token: u32) -> bool {
        matches!(self.vocabulary.role(token), Role::Control | Role::Unknown | Role::Unused)
    }

    /// The tokens that end a turn.
    pub fn end_of_turn(&self) -> &[u32] {
        &self.ends
    }

    /// The token that the model expects before all others, if it does.
    pub fn beginning(&self) -> Option<u32> {
        self.beginning
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Whether there are none; a tokenizer that was read always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("tokens", &self.len()).finish_non_exhaustive()
    }
}
