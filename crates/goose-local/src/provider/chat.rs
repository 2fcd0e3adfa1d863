//! [`ChatFormat`]: turns as tokens, as the model was trained to see them. What people and tools say is only ever text: a
//! `<|im_end|>` in a file does not end a turn.

use super::history::{Speaker, Turn};
use crate::{ModelFacts, Tokenizer};

/// How a model was trained to see turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatFormat {
    /// `<|im_start|>user … <|im_end|>`: Qwen, SmolLM2.
    ChatMl {
        start: u32,
        end: u32,
        /// Qwen3 thinks unless it is shown that it has.
        has_thought: bool,
    },
    /// `<|start_header_id|>user<|end_header_id|> … <|eot_id|>`: Llama 3.
    Headers { begin: Option<u32>, start: u32, end: u32, over: u32 },
    /// `[INST] … [/INST]`: Llama 2 and its kin.
    Inst { begin: Option<u32>, over: Option<u32> },
}

/// What Qwen3 sees where it has thought already.
const NO_THOUGHT: &str = "<think>\n\n</think>\n\n";

impl ChatFormat {
    /// By the special tokens of the vocabulary.
    pub(super) fn of(tokenizer: &Tokenizer, facts: &ModelFacts) -> Self {
        let special = |name: &str| tokenizer.special(name);
        if let (Some(start), Some(end)) = (special("<|im_start|>"), special("<|im_end|>")) {
            let thinks = facts.architecture == "qwen3" && special("<think>").is_some();
            return Self::ChatMl { start, end, has_thought: thinks };
        }
        let headers = (special("<|start_header_id|>"), special("<|end_header_id|>"), special("<|eot_id|>"));
        if let (Some(start), Some(end), Some(over)) = headers {
            return Self::Headers { begin: special("<|begin_of_text|>"), start, end, over };
        }
        Self::Inst { begin: special("<s>"), over: special("</s>") }
    }

    /// The conversation up to where the model answers.
    pub(super) fn tokens(&self, tokenizer: &Tokenizer, turns: &[Turn]) -> Vec<u32> {
        let mut page = Page { tokenizer, tokens: Vec::new() };
        match self {
            Self::ChatMl { start, end, has_thought } => {
                for turn in turns {
                    page.special(*start).text(&format!("{}\n", name(turn.speaker)));
                    page.text(&turn.text).special(*end).text("\n");
                }
                page.special(*start).text("assistant\n");
                if *has_thought {
                    page.thought();
                }
            }
            Self::Headers { begin, start, end, over } => {
                page.maybe(*begin);
                for turn in turns {
                    page.special(*start).text(name(turn.speaker)).special(*end).text("\n\n");
                    page.text(&turn.text).special(*over);
                }
                page.special(*start).text("assistant").special(*end).text("\n\n");
            }
            Self::Inst { begin, over } => page.inst(turns, *begin, *over),
        }
        page.tokens
    }
}

fn name(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Model => "assistant",
    }
}

/// Tokens as they are put down. Each text is taken by itself, so that what stands before and after it does not change its
/// tokens.
struct Page<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<u32>,
}

impl Page<'_> {
    fn text(&mut self, text: &str) -> &mut Self {
        if !text.is_empty() {
            self.tokens.extend(self.tokenizer.encode(text));
        }
        self
    }

    fn special(&mut self, token: u32) -> &mut Self {
        self.tokens.push(token);
        self
    }

    fn maybe(&mut self, token: Option<u32>) -> &mut Self {
        self.tokens.extend(token);
        self
    }

    /// The marks of a thought are special tokens where the vocabulary has them.
    fn thought(&mut self) {
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
    fn inst(&mut self, turns: &[Turn], begin: Option<u32>, over: Option<u32>) {
        let mut system = String::new();
        for turn in turns {
            match turn.speaker {
                Speaker::System => system = format!("<<SYS>>\n{}\n<</SYS>>\n\n", turn.text),
                Speaker::User => {
                    let said = std::mem::take(&mut system) + &turn.text;
                    self.maybe(begin).text(&format!("[INST] {said} [/INST]"));
                }
                Speaker::Model => {
                    self.text(&turn.text).maybe(over);
                }
            }
        }
    }
}
