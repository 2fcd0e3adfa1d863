//! [`Offer`]: at most eight tools, by what the user asked, under short names.

use std::collections::HashSet;

use goose_extension::{JsonObject, Tool};
use serde_json::Value;

use super::{
    example,
    known::{KNOWN, Known, READ, Use},
};

/// How many tools a small model can tell apart.
const MAX_TOOLS: usize = 8;

/// The tool through which the loop takes answers of a given form. Where it is offered, it takes the place of the final
/// answer.
pub(super) const FINAL_OUTPUT: &str = "recipe__final_output";

/// The words of the final answer.
pub(super) const FINAL_ANSWER: &str = "final_answer";

/// The argument of the final answer.
pub(super) const TEXT: &str = "text";

/// How much a tool must have to do with what was asked.
const RELEVANT: usize = 2;

/// Words that say nothing about what is asked.
const COMMON: [&str; 40] = [
    "about",
    "also",
    "and",
    "developer",
    "does",
    "each",
    "file",
    "files",
    "folder",
    "from",
    "give",
    "have",
    "here",
    "into",
    "just",
    "like",
    "line",
    "lines",
    "list",
    "make",
    "many",
    "name",
    "only",
    "path",
    "please",
    "show",
    "some",
    "tell",
    "text",
    "that",
    "them",
    "there",
    "this",
    "use",
    "what",
    "when",
    "where",
    "which",
    "with",
    "your",
];

/// How much of a description is shown, in characters.
const MAX_WORDS_CHARS: usize = 80;

/// The tools that the model is offered.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) tools: Vec<Offered>,
    /// Whether a plain text may be the answer.
    pub(super) takes_text: bool,
}

/// One tool, as the model sees it.
#[derive(Debug)]
pub(super) struct Offered {
    /// The name that the model uses.
    pub(super) short: String,
    /// The name that the loop knows.
    pub(super) name: String,
    pub(super) words: String,
    pub(super) used_to: Use,
    pub(super) example: JsonObject,
    /// What may be passed.
    pub(super) schema: JsonObject,
    /// What is passed besides, without the model's doing.
    besides: JsonObject,
}

impl Offer {
    /// The best of the tools for what was asked in a conversation, the oldest first. What was offered stays: another offer
    /// would be another beginning of the conversation, which would have to be read anew.
    pub(super) fn of(tools: &[Tool], asked: &[String]) -> Self {
        let chosen = chosen(tools, asked);
        let takes_text = !chosen.iter().any(|tool| tool.name() == FINAL_OUTPUT);
        let tools = chosen.iter().map(|tool| Offered::of(tool, &chosen)).collect();
        Self { tools, takes_text }
    }

    /// Whether files can be looked at.
    pub(super) fn can_read(&self) -> bool {
        self.tools.iter().any(|tool| tool.name == READ)
    }

    /// The tool that the model means.
    pub(super) fn by_short(&self, short: &str) -> Option<&Offered> {
        self.tools.iter().find(|tool| tool.short == short)
    }

    /// How the model knows a tool; also one that is not offered any more.
    pub(super) fn short_of<'a>(&'a self, name: &'a str) -> &'a str {
        let offered = self.tools.iter().find(|tool| tool.name == name);
        offered.map_or_else(|| bare(name), |tool| &tool.short)
    }
}

impl Offered {
    fn of(tool: &Tool, all: &[&Tool]) -> Self {
        let (name, short) = (tool.name().to_owned(), short(tool.name(), all));
        if let Some(known) = Known::of(&name) {
            return Self {
                short,
                name,
                words: known.words.to_owned(),
                used_to: known.used_to,
                example: known.example(),
                schema: known.schema(),
                besides: known.besides(),
            };
        }
        Self {
            short,
            name,
            words: words(tool),
            used_to: Use::Other,
            example: example::arguments(tool),
            schema: tool.input_schema().clone(),
            besides: JsonObject::new(),
        }
    }

    /// The arguments as the tool gets them.
    pub(super) fn completed(&self, mut arguments: JsonObject) -> JsonObject {
        for (name, value) in &self.besides {
            arguments.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        arguments
    }
}

/// The call as the model writes it: the tool's name, then its arguments. What it was spared is left out.
pub(super) fn literal(offer: &Offer, name: &str, arguments: &JsonObject) -> String {
    let tool = offer.tools.iter().find(|tool| tool.name == name);
    let is_own = |argument: &str| tool.is_none_or(|tool| !tool.besides.contains_key(argument));
    let mut call = JsonObject::from_iter([("tool".to_owned(), Value::from(offer.short_of(name)))]);
    call.extend(
        arguments.iter().filter(|(name, _)| is_own(name)).map(|(name, value)| (name.clone(), value.clone())),
    );
    Value::Object(call).to_string()
}

/// The developer's tools and the final output come first; the others by what was asked.
fn chosen<'a>(tools: &'a [Tool], asked: &[String]) -> Vec<&'a Tool> {
    let mut chosen: Vec<&Tool> = Vec::new();
    chosen.extend(KNOWN.iter().filter_map(|known| tools.iter().find(|tool| tool.name() == known.name)));
    chosen.extend(tools.iter().filter(|tool| tool.name() == FINAL_OUTPUT));
    // Next to the developer's tools a tool that has nothing to do with the question only confuses.
    let least = if chosen.is_empty() { 0 } else { RELEVANT };
    for asked in asked {
        let asked = words_of(asked);
        let is_new = |tool: &&Tool| chosen.iter().all(|known| known.name() != tool.name());
        let mut others: Vec<(usize, &Tool)> =
            tools.iter().filter(is_new).map(|tool| (relevance(tool, &asked), tool)).collect();
        others.retain(|(relevance, _)| *relevance >= least);
        // Equal ones keep their order, so the same question gets the same offer.
        others.sort_by_key(|(relevance, _)| std::cmp::Reverse(*relevance));
        let room = MAX_TOOLS.saturating_sub(chosen.len());
        chosen.extend(others.into_iter().take(room).map(|(_, tool)| tool));
    }
    chosen
}

/// How much a tool has to do with what was asked: a word of its name says more than one of its description.
fn relevance(tool: &Tool, asked: &HashSet<String>) -> usize {
    let shared = |text: &str| words_of(text).intersection(asked).count();
    RELEVANT * shared(tool.name()) + shared(tool.description())
}

/// The words that say something: longer than three letters, in lower case, without an ending.
fn words_of(text: &str) -> HashSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    let lower = words.map(str::to_lowercase).filter(|word| !COMMON.contains(&word.as_str()));
    lower.map(|word| word.trim_end_matches("ing").trim_end_matches(['s', 'e', 'd']).to_owned()).collect()
}

fn bare(name: &str) -> &str {
    name.rsplit_once("__").map_or(name, |(_, bare)| bare)
}

/// The tool's own name where no other has it, else the whole.
fn short(name: &str, all: &[&Tool]) -> String {
    let own = bare(name);
    let is_taken =
        own == FINAL_ANSWER || all.iter().any(|tool| tool.name() != name && bare(tool.name()) == own);
    if is_taken || own.is_empty() { name.to_owned() } else { own.to_owned() }
}

/// The first sentence of the description.
fn words(tool: &Tool) -> String {
    let text = tool.description();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.');
    let cut = sentence.char_indices().nth(MAX_WORDS_CHARS).map_or(sentence, |(at, _)| &sentence[..at]);
    cut.to_lowercase()
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
