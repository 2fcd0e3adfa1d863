use goose_extension::{JsonObject, Tool, ToolOutput};

use super::{
    super::conversations::{Done, conversation, edit, read, shell, tools},
    *,
};

fn form(goal: Goal, calls: &[Done]) -> Form {
    let messages = conversation(&[], "Go.", calls);
    Form::new(&tools(), &Situation::new(&messages, &tools()), goal)
}

/// The tools that may be called.
fn names(form: &Form) -> Vec<String> {
    let schema = form.schema();
    let all = schema["anyOf"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|call| call["properties"]["tool"]["const"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_request_for_an_answer_changes_nothing() {
    let page = || read("a.txt", "one\ntwo");
    assert_eq!(names(&form(Goal::Answer, &[page()])), ["read", "search", "tree", "shell", "final_answer"]);
    assert_eq!(names(&form(Goal::Change, &[page()])), ["read", "search", "tree", "write", "edit"]);
    let changed = [page(), edit("a.txt", "one", "1")];
    assert!(names(&form(Goal::Change, &changed)).contains(&FINAL_ANSWER.to_owned()));
}

#[test]
fn who_repeats_a_call_can_only_answer() {
    let ls = || shell("ls", ToolOutput::text("a"));
    assert_eq!(names(&form(Goal::Run, &[ls(), ls()])), ["read", "search", "tree", FINAL_ANSWER]);
    assert_eq!(names(&form(Goal::Run, &[ls(), ls(), ls()])), [FINAL_ANSWER]);
}

#[test]
fn a_change_quotes_what_was_read() {
    let form = form(Goal::Change, &[read("a \"b\".txt", "one\n\nsaid \"x\"")]);
    let grammar = form.grammar();
    assert!(grammar.contains(r#"\"a \\\"b\\\".txt\""#), "{grammar}");
    assert!(grammar.contains(r#"["o","n","e","\\n","\\n","s""#), "{grammar}");
    let edit = form.schema()["anyOf"].as_array().unwrap().last().cloned().unwrap();
    assert_eq!(edit["properties"]["before"]["enum"], json!(["one", "said \"x\""]));
    assert_eq!(edit["properties"]["path"]["const"], "a \"b\".txt");
}

#[test]
fn an_escape_is_one_character() {
    assert_eq!(chunks(r#"a\"b\n\u0001ä"#), ["a", "\\\"", "b", "\\n", "\\u0001", "ä"]);
    assert_eq!(chunks(""), Vec::<&str>::new());
}

#[test]
fn every_text_has_an_end() {
    let schema = json!({
        "type": "object",
        "properties": { "to": { "type": "string" }, "kind": { "enum": ["a"] }, "who": { "$ref": "#/$defs/name" } },
        "required": ["to"],
        "$defs": { "name": { "type": "string" } },
    });
    let tool =
        Tool::new("mail__send", "Send mail", schema.as_object().cloned().unwrap_or_else(JsonObject::new));
    let tools = Tools::new(&[tool], &["Go.".to_owned()]);
    let call = call(&tools.offered[0], false);
    assert_eq!(call["properties"]["to"]["maxLength"], MAX_TEXT_CHARS);
    assert_eq!(call["properties"]["kind"], json!({ "enum": ["a"] }));
    assert_eq!(call["$defs"]["name"]["maxLength"], MAX_TEXT_CHARS);
    assert_eq!(call["required"], json!(["tool", "to"]));
}
