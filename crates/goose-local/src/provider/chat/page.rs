//! [`Page`]: tokens as they are put down.

use super::{SystemRules, Turn};
use crate::{Tokenizer, provider::history::Speaker};

/// What Qwen3 sees where it has thought already.
const NO_THOUGHT: &str = "<think>\n\n</think>\n\n";

/// Tokens as they are put down. Each text is taken by itself, so that what stands before and after it does not change its
/// tokens; but whether it follows a mark or goes on from another text does, in some vocabularies.
pub(super) struct Page<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<u32>,
    goes_on: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer) -> Self {
        Self { tokenizer, tokens: Vec::new(), goes_on: false }
    }

    pub(super) fn tokens(self) -> Vec<u32> {
        self.tokens
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        if !text.is_empty() {
            let tokens = match self.goes_on {
                true => self.tokenizer.encode_continuation(text),
                false => self.tokenizer.encode(text),
            };
            self.tokens.extend(tokens);
            self.goes_on = true;
        }
        self
    }

    pub(super) fn special(&mut self, token: u32) -> &mut Self {
        self.tokens.push(token);
        self.goes_on = false;
        self
    }

    pub(super) fn maybe(&mut self, token: Option<u32>) -> &mut Self {
        if let Some(token) = token {
            self.special(token);
        }
        self
    }

    /// A question between marks that are special tokens in some vocabularies and plain text in others.
    fn question(&mut self, said: &str) {
        match (self.tokenizer.special("[INST]"), self.tokenizer.special("[/INST]")) {
            (Some(start), Some(end)) => self.special(start).text(said).special(end),
            _ => self.text(&format!("[INST] {said} [/INST]")),
        };
    }

    /// The marks of a thought are special tokens where the vocabulary has them.
    pub(super) fn thought(&mut self) {
        match (self.tokenizer.special("<think>"), self.tokenizer.special("</think>")) {
            (Some(start), Some(end)) => {
                self.special(start).text("\n\n").special(end).text("\n\n");
            }
            _ => {
                self.text(NO_THOUGHT);
            }
        }
    }

    /// The system's words are part of the first question.
    pub(super) fn inst(&mut self, turns: &[Turn], begin: Option<u32>, over: Option<u32>, rules: SystemRules) {
        let mut system = String::new();
        for turn in turns {
            match (turn.speaker, rules) {
                (Speaker::System, SystemRules::Fenced) => {
                    system = format!("<<SYS>>\n{}\n<</SYS>>\n\n", turn.text);
                }
                (Speaker::System, SystemRules::Plain) => system = format!("{}\n\n", turn.text),
                (Speaker::User, _) => {
                    if rules == SystemRules::Fenced || self.tokens.is_empty() {
                        self.maybe(begin);
                    }
                    let said = std::mem::take(&mut system) + &turn.text;
                    self.question(&said);
                }
                (Speaker::Model, _) => {
                    let blank = if self.goes_on { " " } else { "" };
                    self.text(&format!("{blank}{}", turn.text)).maybe(over);
                }
            }
        }
    }
}
