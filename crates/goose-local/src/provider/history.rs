//! The conversation as turns. Each call is the JSON that the model wrote, each result a short text. The
//! same history always gives the same turns, so that computed states can be reused.

use std::sync::Arc;

use goose_engine::{Speaker, Turn};
use goose_extension::{ContentBlock, JsonObject, Message, MessageContent, Role, ToolOutput};
use goose_fs::truncate_middle;
use serde_json::json;

use super::{
    request_state::{lines, user_text},
    tools::{FINAL_ANSWER, TEXT, Tools},
};

/// Maximum length of a shown result, in characters. File contents may be twice as long.
const MAX_RESULT_CHARS: usize = 2_000;

/// Maximum length of a user's message, in characters. A longer message is far beyond the context of these
/// models.
const MAX_MESSAGE_CHARS: usize = 200_000;

/// Maximum length of the request as repeated after results, in characters.
const MAX_TASK_CHARS: usize = 300;

const UNSEEN: &str = "[an image or a file, which this model cannot see]";

/// Returns the conversation after the opening. `before` is put in front of the first message of the user.
pub(super) fn turns(tools: &Tools, before: &str, messages: &[Arc<Message>]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut before = Some(before.trim()).filter(|text| !text.is_empty());
    let (mut task, nothing) = (String::new(), JsonObject::new());
    for message in messages {
        let speaker = if message.role == Role::Assistant { Speaker::Model } else { Speaker::User };
        let mut texts: Vec<String> = Vec::new();
        if speaker == Speaker::User {
            texts.extend(before.take().map(|text| format!("{text}\n")));
        }
        for part in &message.content {
            match part {
                MessageContent::Block(block) => texts.extend(block_text(block, speaker, tools)),
                MessageContent::ToolCall { name, arguments, .. } => {
                    texts.push(tools.literal(name, arguments.as_object().unwrap_or(&nothing)));
                }
                MessageContent::ToolResult { output, .. } => {
                    let title = if output.is_error { "Error: " } else { "Result:\n" };
                    texts.push(format!("{title}{}{task}", result_text(output)));
                }
                _ => {}
            }
        }
        match turns.last_mut() {
            // Two messages of one speaker become one turn, with the task only at its end.
            Some(last) if last.speaker == speaker => {
                let before = last.text.strip_suffix(&task).unwrap_or(&last.text);
                last.text = format!("{before}\n\n{}", texts.join("\n"));
            }
            _ => turns.push(Turn { speaker, text: texts.join("\n") }),
        }
        let asked = user_text(message);
        if !asked.trim().is_empty() {
            // Small models forget a request that is far back in the conversation.
            task = format!("\n\nTask: {}", truncate_middle(asked.trim(), MAX_TASK_CHARS));
        }
    }
    turns
}

/// Returns the text of a result, without line numbers if it shows a file.
pub(super) fn result_text(output: &ToolOutput) -> String {
    let block = |block: &ContentBlock| block.as_text().map_or(UNSEEN.to_owned(), |text| text.text.clone());
    let text = match (lines(output), &output.structured) {
        (Some((text, true)), _) => truncate_middle(&text, 2 * MAX_RESULT_CHARS),
        (_, Some(fields)) if output.content.is_empty() => {
            truncate_middle(&fields.to_string(), MAX_RESULT_CHARS)
        }
        _ => truncate_middle(
            &output.content.iter().map(block).collect::<Vec<_>>().join("\n"),
            MAX_RESULT_CHARS,
        ),
    };
    let text = text.trim_end();
    if text.is_empty() { "(nothing)".to_owned() } else { text.to_owned() }
}

/// Returns a text of the user, or a final answer of the model as a call.
fn block_text(block: &ContentBlock, speaker: Speaker, tools: &Tools) -> Option<String> {
    let Some(text) = block.as_text() else { return Some(UNSEEN.to_owned()) };
    let text = truncate_middle(&text.text, MAX_MESSAGE_CHARS);
    match speaker {
        Speaker::Model if text.is_empty() => None,
        Speaker::Model if tools.takes_text && !tools.offered.is_empty() => {
            Some(json!({ "tool": FINAL_ANSWER, TEXT: text }).to_string())
        }
        _ => Some(text),
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
