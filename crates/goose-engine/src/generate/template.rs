//! Chat template of a model's file. It supports tools, which the formats in `chat.rs` do not.

use minijinja::{Environment, Error, ErrorKind, context, syntax::SyntaxConfig, value::Serde};
use serde_json::Value;

use super::grammar::GenerateError;
use crate::Tokenizer;

/// Marks around the index of a message, in place of its content. These private-use characters appear in
/// no template.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Returns the tokens of a conversation. Messages and tools have the form of the chat completions API,
/// with arguments as objects.
///
/// The contents of messages are inserted afterwards, as plain text: a `<|im_end|>` in a file does not end
/// a turn.
pub(super) fn tokens(
    template: &str,
    tokenizer: &Tokenizer,
    messages: &[Value],
    tools: &[Value],
) -> Result<Vec<u32>, GenerateError> {
    let mut marked = messages.to_vec();
    for (index, message) in marked.iter_mut().enumerate() {
        if message["content"].as_str().is_some_and(|content| !content.is_empty()) {
            message["content"] = format!("{OPEN}{index}{CLOSE}").into();
        }
    }
    let text =
        render(template, &marked, tools).map_err(|error| GenerateError::Template(error.to_string()))?;
    let mut tokens: Vec<u32> = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, (index, after))) =
        rest.split_once(OPEN).and_then(|(before, after)| Some((before, after.split_once(CLOSE)?)))
    {
        tokens.extend(tokenizer.encode_with_special(before));
        let content = index.parse().ok().and_then(|index: usize| messages.get(index));
        let content = content.and_then(|message| message["content"].as_str()).unwrap_or_default();
        tokens.extend(tokenizer.encode_continuation(content));
        rest = after;
    }
    tokens.extend(tokenizer.encode_with_special(rest));
    let begin = tokenizer.beginning().filter(|begin| tokens.first() != Some(begin));
    Ok(begin.into_iter().chain(tokens).collect())
}

fn render(template: &str, messages: &[Value], tools: &[Value]) -> Result<String, Error> {
    let mut environment = Environment::new();
    // Templates are written for these settings.
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    let (messages, tools) = (Serde(messages), Serde(tools));
    environment.render_str(
        template,
        context! { messages, tools, add_generation_prompt => true, enable_thinking => false },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_gets_messages_and_tools() {
        let template = "{%- for tool in tools %}[{{ tool | tojson }}]{% endfor %}\n\
                        {% for message in messages %}\n    \
                        {{ message.role.upper() }}: {{ message['content'] }}\
                        {% if message.tool_calls %} calls \
                        {{ message.tool_calls[0].function.arguments | tojson }}{% endif %};\n{% endfor %}\n\
                        {% if add_generation_prompt %}ASSISTANT:{% endif %}";
        let call = json!({ "function": { "name": "read", "arguments": { "path": "a" } } });
        let messages = [
            json!({ "role": "user", "content": "Hi" }),
            json!({ "role": "assistant", "tool_calls": [call] }),
        ];
        let text = render(template, &messages, &[json!({ "name": "<|im_end|>" })]).unwrap();
        assert_eq!(
            text,
            "[{\"name\": \"\\u003c|im_end|\\u003e\"}]    USER: Hi;\n    \
             ASSISTANT:  calls {\"path\": \"a\"};\nASSISTANT:"
        );
        let refused = render("{{ raise_exception('no tools') }}", &[], &[]).unwrap_err();
        assert!(refused.to_string().contains("no tools"), "{refused}");
    }
}
