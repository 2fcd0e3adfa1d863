//! What the model is told: how to answer, its tools, one literal call of each, and what the loop says of the surroundings.
//! What is always the same comes first, so that its computation can be kept.

use super::offer::{FINAL_ANSWER, Offer, Offered, TEXT, literal};

const HOW: &str = "You are goose. You do tasks in a folder on the user's computer, one step at a time. Each of your messages \
                   is one JSON object: a tool call, or the final answer.";

const RULES: &str = "\
Rules:
- The user asks about the files in this folder. Read the files that matter before you answer or edit.
- Do what was asked, nothing else. Do not invent facts: use what the results say.
- If a step fails or finds nothing, try another file, word or tool.
- When the task is done, give the final_answer with the facts.";

/// The whole.
pub(super) fn system(offer: &Offer, surroundings: &str) -> String {
    let mut tools: Vec<String> = offer.tools.iter().map(|tool| shown(offer, tool)).collect();
    if offer.takes_text {
        tools.push(format!(
            r#"{{"tool":"{FINAL_ANSWER}","{TEXT}":"docs/notes.txt has 2 lines."}} ends the task: tells the user what was done or found"#
        ));
    }
    format!("{HOW}\n\n{}\n\n{RULES}\n\n{}", tools.join("\n"), surroundings.trim())
}

fn shown(offer: &Offer, tool: &Offered) -> String {
    format!("{} {}", literal(offer, &tool.name, &tool.example), tool.words)
}
