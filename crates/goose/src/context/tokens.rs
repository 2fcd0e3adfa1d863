//! Token estimates. No tokenizer is loaded: services report their counts, and an estimate is good enough
//! between two reports.

use goose_extension::{ContentBlock, JsonObject, Message, MessageContent, Tool, ToolOutput};
use serde_json::Value;

/// Tokens of an image of any size: services scale it down to about this.
const IMAGE_TOKENS: u64 = 1_600;
/// Overhead of each part of a message.
const PART_TOKENS: u64 = 4;

/// Estimates the tokens of a text: one for four characters of English or code, about one for each character
/// of a larger script.
pub fn of_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.len() - ascii;
    (ascii.div_ceil(4) + other.div_ceil(3)) as u64
}

/// Estimates the tokens of a message.
pub fn of_message(message: &Message) -> u64 {
    of_parts(&message.content)
}

/// Estimates the tokens of parts of a message.
pub fn of_parts(parts: &[MessageContent]) -> u64 {
    parts.iter().map(|part| PART_TOKENS + of_part(part)).sum()
}

/// Estimates the tokens of tool definitions.
pub fn of_tools(tools: &[Tool]) -> u64 {
    tools.iter().map(of_tool).sum()
}

fn of_tool(tool: &Tool) -> u64 {
    PART_TOKENS + of_text(tool.name()) + of_text(tool.description()) + of_object(tool.input_schema())
}

/// Estimates the tokens of JSON without writing it: a pair of quotes and a separator are a token.
fn of_json(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => of_text(text) + 1,
        Value::Array(items) => 1 + items.iter().map(of_json).sum::<u64>(),
        Value::Object(fields) => of_object(fields),
    }
}

fn of_object(fields: &JsonObject) -> u64 {
    1 + fields.iter().map(|(name, value)| of_text(name) + 1 + of_json(value)).sum::<u64>()
}

fn of_part(part: &MessageContent) -> u64 {
    match part {
        MessageContent::Block(block) => of_block(block),
        MessageContent::Reasoning(reasoning) => of_text(&reasoning.text),
        MessageContent::ToolCall { name, arguments, .. } => of_text(name) + of_text(&arguments.to_string()),
        MessageContent::ToolResult { output, .. } => of_output(output),
        _ => 0,
    }
}

fn of_output(output: &ToolOutput) -> u64 {
    if output.content.is_empty() {
        return output.structured.as_ref().map_or(0, |value| of_text(&value.to_string()));
    }
    output.content.iter().map(of_block).sum()
}

fn of_block(block: &ContentBlock) -> u64 {
    match block {
        ContentBlock::Text(text) => of_text(&text.text),
        ContentBlock::Image(_) => IMAGE_TOKENS,
        other => of_text(&serde_json::to_string(other).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_any_script_counts_about_as_services_count_it() {
        assert_eq!(of_text(""), 0);
        assert_eq!(of_text("Hello, world"), 3);
        assert_eq!(of_text("你好世界"), 4);
    }

    #[test]
    fn a_picture_counts_the_same_however_large_it_is() {
        let small = Message::new(
            goose_extension::Role::User,
            [MessageContent::Block(ContentBlock::image("aGk=", "image/png"))],
        );
        let large = Message::new(
            goose_extension::Role::User,
            [MessageContent::Block(ContentBlock::image("aGk=".repeat(100_000), "image/png"))],
        );

        assert_eq!(of_message(&small), of_message(&large));
    }
}
