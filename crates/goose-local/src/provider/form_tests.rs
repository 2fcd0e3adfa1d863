//! What fits, and what does not.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role, Tool, ToolOutput};

use super::*;

fn offer() -> Offer {
    let names = ["developer__read", "developer__search", "developer__edit"];
    Offer::of(&names.map(|name| Tool::new(name, "", JsonObject::new())), &[])
}

/// Whether a document may be written. What quotes is looked at by itself.
fn may_write(form: &Form, document: &Value) -> bool {
    let fits = |schema: &Value| jsonschema::is_valid(schema, document);
    let quotes = document["tool"] == "edit" && !form.edits.is_empty();
    quotes || form.documents.iter().any(fits)
}

/// After `a.txt` was read.
fn seen() -> Seen {
    let (id, name) = ("1".to_owned(), READ.to_owned());
    let call = MessageContent::ToolCall { id, name, arguments: json!({"path": "a.txt"}), opaque: None };
    let result = MessageContent::tool_result("1", ToolOutput::text("1\tport = \"80\""));
    Seen::of(&[Arc::new(Message::new(Role::Assistant, [call])), Arc::new(Message::new(Role::User, [result]))])
}

fn at(stage: Stage) -> Progress {
    Progress {
        stage,
        calls: 1,
        has_changed: false,
        unsearched: None,
        unfinished: None,
        exhausted: None,
        lacks_file: false,
        may_page: false,
    }
}

fn answer() -> Value {
    json!({"tool": "final_answer", "text": "Done."})
}

fn edit() -> Value {
    json!({"tool": "edit", "path": "a.txt", "before": "a", "after": "b"})
}

fn read() -> Value {
    json!({"tool": "read", "path": "a.txt"})
}

#[test]
fn calls_and_the_answer_fit_and_others_do_not() {
    let fits = |progress: &Progress, value: Value| may_write(&Form::of(&offer(), progress, &seen()), &value);
    for stage in [Stage::Begun, Stage::Going] {
        assert!(fits(&at(stage), answer()) && fits(&at(stage), read()));
        assert!(!fits(&at(stage), json!({"tool": "read"})));
        assert!(!fits(&at(stage), json!({"tool": "shell", "command": "ls"})));
        assert!(!fits(&at(stage), json!({"tool": "final_answer", "text": "Done.", "path": "x"})));
    }
    let reads_on = json!({"tool": "read", "path": "a.txt", "offset": 3});
    assert!(!fits(&at(Stage::Going), reads_on.clone()));
    assert!(fits(&Progress { may_page: true, ..at(Stage::Going) }, reads_on));
    let unseen = Form::of(&offer(), &at(Stage::Going), &Seen::default());
    assert!(!may_write(&unseen, &edit()) && fits(&at(Stage::Going), edit()));
    assert!(!fits(&at(Stage::Missed), answer()) && !fits(&at(Stage::Missed), edit()));
    assert!(fits(&at(Stage::Missed), read()));
    assert!(!fits(&at(Stage::Undone), answer()) && fits(&at(Stage::Undone), edit()));
    assert!(!fits(&Progress { lacks_file: true, ..at(Stage::Going) }, edit()));
    let exhausted = Progress { exhausted: Some("developer__read".to_owned()), ..at(Stage::Going) };
    assert!(!fits(&exhausted, read()) && fits(&exhausted, edit()));
    assert!(fits(&at(Stage::Stuck), answer()) && !fits(&at(Stage::Stuck), read()));
}

#[test]
fn who_is_not_believed_goes_on_or_says_what_was_seen() {
    let fits = |doubt: Doubt, value: Value| {
        let form = Form::instead(&offer(), &at(Stage::Going), &seen(), doubt);
        form.is_some_and(|form| may_write(&form, &value))
    };
    assert!(fits(Doubt::Undone, edit()) && fits(Doubt::Undone, read()));
    assert!(!fits(Doubt::Undone, answer()));
    assert!(!fits(Doubt::Undone, json!({"tool": "search", "pattern": "a"})));
    assert!(fits(Doubt::Empty, answer()) && !fits(Doubt::Empty, read()));
    assert!(!fits(Doubt::Empty, json!({"tool": "final_answer", "text": "I looked."})));
    assert_eq!(Form::instead(&offer(), &at(Stage::Stuck), &seen(), Doubt::Undone), None);
}

#[test]
fn what_a_schema_refers_to_comes_with_it_and_texts_have_an_end() {
    let own = json!({
        "type": "object",
        "properties": {"who": {"$ref": "#/$defs/Who"}, "why": {"type": "string"}},
        "required": ["who", "why"],
        "$defs": {"Who": {"type": "string", "enum": ["ada"]}}
    });
    let tool = Tool::new("a__greet", "", own.as_object().cloned().unwrap());
    let form = Form::of(&Offer::of(&[tool], &["greet".to_owned()]), &at(Stage::Begun), &Seen::default());
    let greet = |who: &str, why: &str| json!({"tool": "greet", "who": who, "why": why});
    assert!(may_write(&form, &greet("ada", "x")), "{form:?}");
    assert!(!may_write(&form, &greet("bob", "x")));
    assert!(!may_write(&form, &greet("ada", &"x".repeat(MAX_TEXT_CHARS + 1))));
}

#[test]
fn the_grammar() {
    insta::assert_snapshot!(Form::of(&offer(), &at(Stage::Going), &seen()).grammar());
}
