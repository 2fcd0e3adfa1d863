use goose_extension::{JsonObject, Tool, ToolOutput};

use super::{
    super::conversation_tests::{CallRecord, conversation, edit, read, shell, tools},
    *,
};

fn form(plan: &str, calls: &[CallRecord]) -> Form {
    let messages = conversation(&[], "Go.", calls);
    Form::new(&tools(), &RequestState::new(&messages, &tools()), &Plan::new(plan))
}

/// Returns the tools that may be called.
fn names(form: &Form) -> Vec<String> {
    let schema = form.schema();
    let all = schema["anyOf"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|call| call["properties"]["tool"]["const"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_question_allows_no_changes() {
    let page = || read("a.txt", "one\ntwo");
    assert_eq!(names(&form("answer", &[page()])), ["read", "search", "tree", "shell", "final_answer"]);
    assert_eq!(names(&form("change", &[page()])), ["read", "search", "tree", "edit", "write", "shell"]);
    let command = |plan| form(plan, &[]).schema().to_string().contains("^[^>]+$");
    assert!(command("answer") && !command("run"), "an answer needs no file");
    let changed = [page(), edit("a.txt", "one", "1")];
    assert!(names(&form("change", &changed)).contains(&FINAL_ANSWER.to_owned()));
}

#[test]
fn a_run_without_files_only_runs() {
    let ls = || shell("ls", ToolOutput::text("a"));
    assert_eq!(names(&form("run", &[read("a.txt", "one")])), ["read", "search", "tree", "shell"]);
    let after = names(&form("run", &[read("a.txt", "one"), ls()]));
    assert_eq!(after, ["read", "search", "tree", "shell", FINAL_ANSWER], "what ran stays as it is");
    assert!(names(&form("run a.txt", &[read("a.txt", "one")])).contains(&"edit".to_owned()));
    let tools = Tools::new(&[Tool::new("developer__write", "", JsonObject::new())], &[]);
    let messages = conversation(&[], "Go.", &[]);
    let form = Form::new(&tools, &RequestState::new(&messages, &tools), &Plan::new("run"));
    assert_eq!(names(&form), ["write"], "there is no shell");
}

#[test]
fn a_run_with_files_ends_with_a_command_that_ran_or_was_refused() {
    let write = || {
        let arguments = json!({ "path": "a.sh", "content": "ls" });
        ("developer__write", arguments, ToolOutput::text("Created a.sh"))
    };
    let task = "Write a.sh and run it.";
    let names = |calls: &[CallRecord]| {
        let messages = conversation(&[], task, calls);
        names(&Form::new(&tools(), &RequestState::new(&messages, &tools()), &Plan::new("run a.sh")))
    };
    let may_end = |calls: &[CallRecord]| names(calls).contains(&FINAL_ANSWER.to_owned());
    assert!(!may_end(&[]));
    assert_eq!(names(&[write()]), ["read", "search", "tree", "shell"], "it was not run yet");
    assert!(may_end(&[write(), shell("sh a.sh", ToolOutput::text("a"))]));
    assert!(may_end(&[write(), shell("sh a.sh", ToolOutput::error("not allowed"))]));
}

#[test]
fn a_model_that_repeats_a_call_can_only_answer() {
    let ls = || shell("ls", ToolOutput::text("a"));
    let others = ["read", "search", "tree", FINAL_ANSWER];
    assert_eq!(names(&form("run", &[ls(), ls()])), others);
    assert_eq!(names(&form("run", &[ls(), ls(), ls()])), [FINAL_ANSWER]);
    let tools = Tools::new(&[Tool::new("developer__read", "", JsonObject::new())], &[]);
    let messages = conversation(&[], "Go.", &[read("a.txt", "one"), read("a.txt", "one")]);
    let only = Form::new(&tools, &RequestState::new(&messages, &tools), &Plan::new("change"));
    assert_eq!(names(&only), [FINAL_ANSWER], "no other call is left");
}

#[test]
fn an_edit_quotes_known_lines() {
    let form = form("change", &[read("a \"b\".txt", "one\n\nsaid \"x\"\none")]);
    let schema = form.schema();
    let edit = schema["anyOf"]
        .as_array()
        .unwrap()
        .iter()
        .find(|call| call["properties"]["tool"]["const"] == "edit")
        .unwrap();
    assert_eq!(edit["properties"]["before"]["enum"], json!(["one", "said \"x\""]));
    assert_eq!(edit["properties"]["path"]["const"], "a \"b\".txt");
    assert_eq!(edit["required"], json!(["tool", "path", "before", "after"]));
    assert!(form.grammar().starts_with("start: call_0 | call_1 |"), "{}", form.grammar());
}

#[test]
fn a_call_has_the_arguments_of_its_tool() {
    let schema = json!({
        "type": "object",
        "properties": { "to": { "type": "string" }, "who": { "$ref": "#/$defs/name" } },
        "required": ["to"],
        "$defs": { "name": { "type": "string" } },
    });
    let tool =
        Tool::new("mail__send", "Send mail", schema.as_object().cloned().unwrap_or_else(JsonObject::new));
    let tools = Tools::new(&[tool], &["Go.".to_owned()]);
    let call = call(&tools.offered[0], false);
    assert_eq!(call["$defs"]["name"]["type"], "string");
    assert_eq!(call["required"], json!(["tool", "to"]));
}
