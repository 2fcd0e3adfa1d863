use serde_json::json;

use super::*;

fn found(text: &str) -> Vec<(String, Value)> {
    let value = |arguments| match arguments {
        Arguments::Object(arguments) => Value::Object(arguments),
        Arguments::Malformed { raw, .. } => Value::String(raw),
    };
    parse_text_calls(text).into_iter().map(|(name, arguments)| (name, value(arguments))).collect()
}

#[test]
fn calls_are_found_in_the_shapes_that_models_write() {
    let expected = vec![("read".to_owned(), json!({ "path": "a" }))];
    for text in [
        r#"<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>"#,
        r#"{"name": "read", "parameters": {"path": "a"}}"#,
        r#"[{"name": "read", "arguments": {"path": "a"}, "id": "x1"}]"#,
        r#"{"name": "read", "arguments": "{\"path\": \"a\"}"}"#,
        "```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```",
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
    let two = found(&r#"<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>"#.repeat(2));
    assert_eq!(two.len(), 2);
}

#[test]
fn other_text_is_not_a_call_and_a_broken_call_is_kept() {
    for text in ["The port is 80.", r#"{"port": 80}"#, "[1, 2]", r#"{"name": "x"}"#, "{"] {
        assert_eq!(found(text), [], "{text}");
    }
    let broken = found(r#"<tool_call>{"name": "read", </tool_call>"#);
    assert_eq!(broken, [(String::new(), json!("{\"name\": \"read\","))]);
}

#[test]
fn text_is_plain_up_to_a_possible_call() {
    assert_eq!(plain_text_len("Hello"), 5);
    assert_eq!(plain_text_len("Hello <tool"), 6);
    assert_eq!(plain_text_len("Hi <tool_call>{"), 3);
    assert_eq!(plain_text_len(" {\"name\""), 0);
}
