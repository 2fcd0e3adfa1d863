//! [`Offer`]: at most eight tools, by what the user asked, under short names.

use std::collections::HashSet;

use goose_extension::{JsonObject, Tool};
use serde_json::Value;

use super::{
    example,
    known::{KNOWN, Known, Use},
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
    /// The best of the tools for what was asked.
    pub(super) fn of(tools: &[Tool], asked: &str) -> Self {
        let chosen = chosen(tools, asked);
        let takes_text = !chosen.iter().any(|tool| tool.name() == FINAL_OUTPUT);
        let tools = chosen.iter().map(|tool| Offered::of(tool, &chosen)).collect();
        Self { tools, takes_text }
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

/// The developer's tools and the final output come first; the others by how many words they share with what was asked.
fn chosen<'a>(tools: &'a [Tool], asked: &str) -> Vec<&'a Tool> {
    let is_fixed = |tool: &Tool| Known::of(tool.name()).is_some() || tool.name() == FINAL_OUTPUT;
    let mut chosen: Vec<&Tool> = Vec::new();
    chosen.extend(KNOWN.iter().filter_map(|known| tools.iter().find(|tool| tool.name() == known.name)));
    chosen.extend(tools.iter().filter(|tool| tool.name() == FINAL_OUTPUT));
    let asked = words_of(asked);
    let mut others: Vec<(usize, &Tool)> =
        tools.iter().filter(|tool| !is_fixed(tool)).map(|tool| (shared(tool, &asked), tool)).collect();
    // Equal ones keep their order, so the same question gets the same offer.
    others.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    // Next to the developer's tools a tool that has nothing to do with the question only confuses.
    let has_known = !chosen.is_empty();
    let others = others.into_iter().filter(|(shared, _)| *shared > 0 || !has_known).map(|(_, tool)| tool);
    let room = MAX_TOOLS.saturating_sub(chosen.len());
    chosen.extend(others.take(room));
    chosen
}

fn shared(tool: &Tool, asked: &HashSet<String>) -> usize {
    let own = words_of(&format!("{} {}", tool.name(), tool.description()));
    own.intersection(asked).count()
}

/// The words that say something: longer than three letters, in lower case, without an ending.
fn words_of(text: &str) -> HashSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    words
        .map(|word| word.to_lowercase().trim_end_matches("ing").trim_end_matches(['s', 'e', 'd']).to_owned())
        .collect()
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
