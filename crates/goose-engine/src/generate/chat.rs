//! [`ChatFormat`]: turns as tokens, in the format that the model was trained on. The words of users and
//! tools never become special tokens: a `<|im_end|>` in a file does not end a turn.

use crate::{ModelFacts, Tokenizer};

/// Speaker of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Instructions before the conversation.
    System,
    /// The user, and the results of tools.
    User,
    /// The model.
    Model,
}

/// Text of one speaker until another speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Speaker of the turn.
    pub speaker: Speaker,
    /// Text of the turn.
    pub text: String,
}

/// Format of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatFormat {
    /// `<|im_start|>user … <|im_end|>`: Qwen, SmolLM2, Hermes.
    ChatMl {
        begin: Option<u32>,
        start: u32,
        end: u32,
        /// True for Qwen3, which skips thinking if the prompt contains an empty thought.
        has_thought: bool,
    },
    /// `<|start_header_id|>user<|end_header_id|> … <|eot_id|>`: Llama 3.
    Headers { begin: Option<u32>, start: u32, end: u32, over: u32 },
    /// `<|user|> … </s>`: Zephyr, TinyLlama. The names of speakers are plain text.
    Zephyr { begin: Option<u32>, over: u32 },
    /// `[INST] … [/INST]`: Llama 2, Mistral and related models.
    Inst { begin: Option<u32>, over: Option<u32>, placement: SystemPlacement },
}

/// Place of the system message in `[INST]` formats, which have no turn for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemPlacement {
    /// Between `<<SYS>>` and `<</SYS>>` in the first question. Each question starts with the begin token.
    /// Llama 2.
    Fenced,
    /// Before the first question: Mistral.
    Plain,
}

/// Facts by which a format is detected.
struct FormatHints<'a> {
    /// Jinja template of the file. It is only searched for marks, not run.
    template: Option<&'a str>,
    special: &'a dyn Fn(&str) -> Option<u32>,
    begin: Option<u32>,
    /// True if models of the family think before they answer.
    thinks: bool,
}

impl ChatFormat {
    /// Detects the format by the marks in the file's template, if the vocabulary has their tokens. Falls
    /// back to the vocabulary alone.
    pub(super) fn detect(tokenizer: &Tokenizer, facts: &ModelFacts) -> Self {
        let special = |name: &str| tokenizer.special(name);
        FormatHints {
            template: facts.chat_template.as_deref(),
            special: &special,
            begin: tokenizer.beginning(),
            thinks: facts.architecture == "qwen3",
        }
        .format()
    }

    /// Returns the tokens of the conversation, up to the point where the model answers.
    pub(super) fn tokens(&self, tokenizer: &Tokenizer, turns: &[Turn]) -> Vec<u32> {
        let mut writer = TokenWriter { tokenizer, tokens: Vec::new(), follows_text: false };
        match self {
            Self::ChatMl { begin, start, end, has_thought } => {
                writer.optional(*begin);
                for turn in turns {
                    writer.special(*start).text(&format!("{}\n", name(turn.speaker)));
                    writer.text(&turn.text).special(*end).text("\n");
                }
                writer.special(*start).text("assistant\n");
                if *has_thought {
                    writer.thought();
                }
            }
            Self::Headers { begin, start, end, over } => {
                writer.optional(*begin);
                for turn in turns {
                    writer.special(*start).text(name(turn.speaker)).special(*end).text("\n\n");
                    writer.text(&turn.text).special(*over);
                }
                writer.special(*start).text("assistant").special(*end).text("\n\n");
            }
            Self::Zephyr { begin, over } => {
                writer.optional(*begin);
                for turn in turns {
                    writer.text(&format!("<|{}|>\n", name(turn.speaker))).text(&turn.text);
                    writer.special(*over).text("\n");
                }
                writer.text("<|assistant|>\n");
            }
            Self::Inst { begin, over, placement } => writer.inst(turns, *begin, *over, *placement),
        }
        writer.tokens
    }
}

fn name(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Model => "assistant",
    }
}

impl FormatHints<'_> {
    fn format(&self) -> ChatFormat {
        let by_template = self.template.and_then(|template| {
            let has = |mark: &str| template.contains(mark);
            match () {
                () if has("<|im_start|>") => self.chat_ml(),
                () if has("<|start_header_id|>") => self.headers(),
                () if has("[INST]") => Some(self.inst()),
                () if has("<|user|>") => self.zephyr(),
                () => None,
            }
        });
        by_template.or_else(|| self.chat_ml()).or_else(|| self.headers()).unwrap_or_else(|| self.inst())
    }

    fn special(&self, name: &str) -> Option<u32> {
        (self.special)(name)
    }

    fn chat_ml(&self) -> Option<ChatFormat> {
        let (start, end) = (self.special("<|im_start|>")?, self.special("<|im_end|>")?);
        let has_thought = self.thinks && self.special("<think>").is_some();
        Some(ChatFormat::ChatMl { begin: self.begin, start, end, has_thought })
    }

    fn headers(&self) -> Option<ChatFormat> {
        let (start, end) = (self.special("<|start_header_id|>")?, self.special("<|end_header_id|>")?);
        let begin = self.begin.or_else(|| self.special("<|begin_of_text|>"));
        Some(ChatFormat::Headers { begin, start, end, over: self.special("<|eot_id|>")? })
    }

    fn zephyr(&self) -> Option<ChatFormat> {
        Some(ChatFormat::Zephyr { begin: self.begin, over: self.special("</s>")? })
    }

    fn inst(&self) -> ChatFormat {
        let begin = self.begin.or_else(|| self.special("<s>"));
        let is_fenced = self.template.is_none_or(|template| template.contains("<<SYS>>"));
        let placement = if is_fenced { SystemPlacement::Fenced } else { SystemPlacement::Plain };
        ChatFormat::Inst { begin, over: self.special("</s>"), placement }
    }
}

/// Empty thought that keeps Qwen3 from thinking.
const NO_THOUGHT: &str = "<think>\n\n</think>\n\n";

/// Collects tokens. Each text is encoded separately, so that neighbouring texts do not change its tokens.
/// In some vocabularies, it matters whether a text follows a mark or another text.
struct TokenWriter<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<u32>,
    follows_text: bool,
}

impl TokenWriter<'_> {
    fn text(&mut self, text: &str) -> &mut Self {
        if !text.is_empty() {
            let tokens = match self.follows_text {
                true => self.tokenizer.encode_continuation(text),
                false => self.tokenizer.encode(text),
            };
            self.tokens.extend(tokens);
            self.follows_text = true;
        }
        self
    }

    fn special(&mut self, token: u32) -> &mut Self {
        self.tokens.push(token);
        self.follows_text = false;
        self
    }

    fn optional(&mut self, token: Option<u32>) -> &mut Self {
        if let Some(token) = token {
            self.special(token);
        }
        self
    }

    /// Writes a question. Its marks are special tokens in some vocabularies, and plain text in others.
    fn question(&mut self, said: &str) {
        match (self.tokenizer.special("[INST]"), self.tokenizer.special("[/INST]")) {
            (Some(start), Some(end)) => self.special(start).text(said).special(end),
            _ => self.text(&format!("[INST] {said} [/INST]")),
        };
    }

    /// Writes an empty thought. Its marks are special tokens if the vocabulary has them.
    fn thought(&mut self) {
        match (self.tokenizer.special("<think>"), self.tokenizer.special("</think>")) {
            (Some(start), Some(end)) => self.special(start).text("\n\n").special(end).text("\n\n"),
            _ => self.text(NO_THOUGHT),
        };
    }

    /// Writes turns in an `[INST]` format. The system message becomes a part of the first question.
    fn inst(&mut self, turns: &[Turn], begin: Option<u32>, over: Option<u32>, placement: SystemPlacement) {
        let mut system = String::new();
        for turn in turns {
            match (turn.speaker, placement) {
                (Speaker::System, SystemPlacement::Fenced) => {
                    system = format!("<<SYS>>\n{}\n<</SYS>>\n\n", turn.text);
                }
                (Speaker::System, SystemPlacement::Plain) => system = format!("{}\n\n", turn.text),
                (Speaker::User, _) => {
                    if placement == SystemPlacement::Fenced || self.tokens.is_empty() {
                        self.optional(begin);
                    }
                    let said = std::mem::take(&mut system) + &turn.text;
                    self.question(&said);
                }
                (Speaker::Model, _) => {
                    let blank = if self.follows_text { " " } else { "" };
                    self.text(&format!("{blank}{}", turn.text)).optional(over);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(template: Option<&str>, vocabulary: &[&str], begin: Option<u32>) -> ChatFormat {
        let special =
            |name: &str| vocabulary.iter().position(|token| *token == name).map(|token| token as u32);
        FormatHints { template, special: &special, begin, thinks: false }.format()
    }

    const CHAT_ML: [&str; 2] = ["<|im_start|>", "<|im_end|>"];
    const LLAMA3: [&str; 4] = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"];

    #[test]
    fn the_template_decides_if_the_vocabulary_fits_several_formats() {
        let both = [LLAMA3.as_slice(), &CHAT_ML].concat();
        let chat_ml = ChatFormat::ChatMl { begin: Some(0), start: 4, end: 5, has_thought: false };
        let headers = ChatFormat::Headers { begin: Some(0), start: 1, end: 2, over: 3 };
        assert_eq!(format(Some("{{'<|im_start|>' + role}}"), &both, Some(0)), chat_ml);
        assert_eq!(format(Some("{{'<|start_header_id|>' + role}}"), &both, Some(0)), headers);
        assert_eq!(format(Some("something else"), &both, Some(0)), chat_ml);
        assert_eq!(format(None, &LLAMA3, None), headers);
    }

    #[test]
    fn older_formats_are_detected_by_their_templates() {
        let old = ["<unk>", "<s>", "</s>"];
        let inst = |placement| ChatFormat::Inst { begin: Some(1), over: Some(2), placement };
        let zephyr = ChatFormat::Zephyr { begin: Some(1), over: 2 };
        assert_eq!(format(Some("{{ '<|user|>\n' + message + eos_token }}"), &old, Some(1)), zephyr);
        assert_eq!(format(Some("[INST] <<SYS>>"), &old, Some(1)), inst(SystemPlacement::Fenced));
        assert_eq!(format(Some("[INST] {{ message }} [/INST]"), &old, Some(1)), inst(SystemPlacement::Plain));
        assert_eq!(format(None, &old, None), inst(SystemPlacement::Fenced));
        // The marks are in the template but not in the vocabulary.
        assert_eq!(format(Some("<|im_start|>"), &old, None), inst(SystemPlacement::Plain));
    }
}
