//! Prompt before the conversation: instructions, the tools with one literal call each, and small tasks as
//! examples. It is the same in every conversation with the same tools, so that its computed state can be
//! reused.

use goose_engine::{Speaker, Turn};

use super::tools::{Capability, FINAL_ANSWER, OfferedTool, TEXT, Tools};

const HOW: &str = "You are goose. You do tasks in a folder on the user's computer, one step at a time. Each \
                   of your messages is one JSON object: one of these tool calls, or the final answer.";

const RULES: &str = "As soon as a result has what the user wants, give the final answer. The user does not \
                     see the results: repeat in the answer what they say. If a result does not have it, go \
                     on: read another file, search for another word. Never guess. Change files only if the \
                     user asks for it; then do it, do not only explain it.";

/// Small tasks, one for each way in which a task can go. They show when to continue and when to stop,
/// which small models learn from nothing else.
const EXAMPLES: &str = include_str!("examples.txt");

const EXAMPLES_END: &str = "Those were examples. This is another folder.";

/// Tools that the examples use.
const USED_IN_EXAMPLES: [&str; 5] = ["search", "read", "edit", "write", "shell"];

/// Returns the turns before the conversation, and the text before the first request.
pub(super) fn opening(tools: &Tools, system: &str) -> (Vec<Turn>, String) {
    if tools.offered.is_empty() {
        return (vec![Turn { speaker: Speaker::System, text: system.to_owned() }], String::new());
    }
    let mut turns = vec![Turn { speaker: Speaker::System, text: instructions(tools) }];
    if !tools.takes_text || USED_IN_EXAMPLES.iter().any(|name| tools.by_short(name).is_none()) {
        return (turns, system.to_owned());
    }
    turns.extend(EXAMPLES.trim_end().split("\n----\n").map(|text| {
        let speaker = if text.starts_with('{') { Speaker::Model } else { Speaker::User };
        Turn { speaker, text: text.to_owned() }
    }));
    (turns, format!("{EXAMPLES_END}\n{system}").trim_end().to_owned())
}

fn instructions(tools: &Tools) -> String {
    // In one long list, the model would take the tools for steps to be done one by one.
    let groups: [(&str, &[Capability]); 4] = [
        ("To look", &[Capability::Read, Capability::Search]),
        ("To change", &[Capability::Edit, Capability::Write]),
        ("To run", &[Capability::Run]),
        ("For the rest", &[Capability::Other]),
    ];
    let mut lines: Vec<String> = Vec::new();
    for (title, group) in groups {
        let offered = tools.offered.iter().filter(|tool| group.contains(&tool.capability));
        let shown =
            |tool: &OfferedTool| format!("{} {}", tools.literal(&tool.name, &tool.example), tool.description);
        let calls: Vec<String> = offered.map(|tool| shown(tool).trim_end().to_owned()).collect();
        if !calls.is_empty() {
            lines.push(format!("{title}: {}.", calls.join(", ")));
        }
    }
    if tools.takes_text {
        let example = format!(r#"{{"tool":"{FINAL_ANSWER}","{TEXT}":"todo.txt has 2 lines."}}"#);
        lines.push(format!("To end: {example} tells the user what was found or done."));
    }
    format!("{HOW}\n\n{}\n\n{RULES}", lines.join("\n"))
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
