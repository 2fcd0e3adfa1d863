//! What the model is told: how to answer, its tools, one literal call of each, and what the loop says of the surroundings.
//! What is always the same comes first, so that its computation can be kept.

use super::offer::{FINAL_ANSWER, Offer, Offered, TEXT, literal};

const HOW: &str = "You are goose. You do tasks in a folder of the user's computer, one step at a time. Each of your \
                   messages is one JSON object: a tool call, or the end of the task.";

const HABITS: &str = "Look with a tool before you answer. Read a file before you edit it. Answer only with facts from the \
                      results. When the task is done, use final_answer.";

/// The whole.
pub(super) fn system(offer: &Offer, surroundings: &str) -> String {
    let mut tools: Vec<String> = offer.tools.iter().map(|tool| shown(offer, tool)).collect();
    if offer.takes_text {
        tools.push(format!(
            r#"{{"tool":"{FINAL_ANSWER}","{TEXT}":"The file has 2 lines."}} ends the task: tells the user what was done or found"#
        ));
    }
    format!("{HOW}\n\n{}\n\n{HABITS}\n\n{}", tools.join("\n"), surroundings.trim())
}

fn shown(offer: &Offer, tool: &Offered) -> String {
    format!("{} {}", literal(offer, &tool.name, &tool.example), tool.words)
}
