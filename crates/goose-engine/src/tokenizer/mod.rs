//! [`Tokenizer`]: text to tokens and back, with the vocabulary of the model's file.
//!
//! - `vocabulary`: tokens and their bytes; `special_tokens`: tokens that are matched as a whole;
//! - `split`: splits text into words;
//! - `bpe`: byte-level pair merging (Qwen, Llama 3, SmolLM); `sentencepiece`: older Llamas.

mod bpe;
mod sentencepiece;
mod special_tokens;
mod split;
mod vocabulary;

use std::collections::HashMap;

use self::bpe::Bpe;
use self::sentencepiece::SentencePiece;
use self::special_tokens::{Segment, SpecialTokens};
use self::vocabulary::{Role, Vocabulary};
use crate::EngineError;
use crate::gguf::Gguf;

/// Tokens that end a turn or a text in the supported families.
const ENDS: [&str; 7] =
    ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>"];

/// Converter between text and tokens.
pub struct Tokenizer {
    vocabulary: Vocabulary,
    method: Method,
    special: HashMap<Vec<u8>, u32>,
    in_text: SpecialTokens,
    ends: Vec<u32>,
    beginning: Option<u32>,
}

/// Position of a text in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPosition {
    Start,
    Inside,
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
        let begins_by_default = match &method {
            Method::SentencePiece(_) => true,
            Method::Bpe(bpe) => bpe.begins_by_default,
        };
        let begins = file.flag("tokenizer.ggml.add_bos_token").unwrap_or(begins_by_default);
        let beginning = id("tokenizer.ggml.bos_token_id").filter(|_| begins);
        Self { in_text: SpecialTokens::new(&vocabulary), vocabulary, method, special, ends, beginning }
    }

    /// Returns the tokens of a text. No text becomes a control token, whatever it contains.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.encode_at(text, TextPosition::Start)
    }

    /// Returns the tokens of a text that continues another. Unlike [`Tokenizer::encode`], adds no blank
    /// before the first word, which SentencePiece vocabularies otherwise expect.
    pub fn encode_continuation(&self, text: &str) -> Vec<u32> {
        self.encode_at(text, TextPosition::Inside)
    }

    /// Returns the tokens of a text in which control tokens are recognized. Only for templates, never for
    /// text of a user.
    pub(crate) fn encode_with_special(&self, text: &str) -> Vec<u32> {
        let marks: Vec<(&str, u32)> = self
            .special
            .iter()
            .filter_map(|(mark, token)| Some((std::str::from_utf8(mark).ok()?, *token)))
            .filter(|(mark, _)| !mark.is_empty() && text.contains(mark))
            .collect();
        let mut out = Vec::new();
        let mut rest = text;
        while let Some((at, mark, token)) = marks
            .iter()
            .filter_map(|(mark, token)| Some((rest.find(mark)?, *mark, *token)))
            .min_by_key(|(at, mark, _)| (*at, std::cmp::Reverse(mark.len())))
        {
            out.extend(self.encode_continuation(&rest[..at]));
            out.push(token);
            rest = &rest[at + mark.len()..];
        }
        out.extend(self.encode_continuation(rest));
        out
    }

    fn encode_at(&self, text: &str, position: TextPosition) -> Vec<u32> {
        let mut out = Vec::new();
        self.in_text.split(text, &mut |segment| match segment {
            Segment::Token(token) => out.push(token),
            Segment::Plain(text) => match &self.method {
                Method::Bpe(bpe) => bpe.encode(&self.vocabulary, text, &mut out),
                Method::SentencePiece(pieces) => pieces.encode(&self.vocabulary, text, position, &mut out),
            },
        });
        out
    }

    /// Returns the control or user-defined token with this text.
    pub fn special(&self, text: &str) -> Option<u32> {
        self.special.get(text.as_bytes()).copied()
    }

    /// Returns the bytes of a token. A character may be split between several tokens.
    pub fn bytes(&self, token: u32) -> &[u8] {
        self.vocabulary.bytes(token)
    }

    /// Returns true if a token is structure rather than text.
    pub fn is_special(&self, token: u32) -> bool {
        matches!(self.vocabulary.role(token), Role::Control | Role::Unknown | Role::Unused)
    }

    /// Returns the tokens that end a turn.
    pub fn end_of_turn(&self) -> &[u32] {
        &self.ends
    }

    /// Returns the token that the model expects at the beginning, if any.
    pub fn beginning(&self) -> Option<u32> {
        self.beginning
    }

    /// Returns the number of tokens.
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary is never empty")]
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }
}
