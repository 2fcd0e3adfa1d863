//! What is believed, and what is not.

use goose_extension::ToolOutput;
use serde_json::json;

use super::{
    super::{examples::conversation, known::EDIT},
    *,
};

const LOOKED: (&str, &str) = ("developer__tree", "alpha.txt\nnotes/");

fn claims(task: &str, steps: &[(&str, &str)]) -> Claims {
    let output = |result: &str| match result.strip_prefix("Error: ") {
        Some(error) => ToolOutput::error(error),
        None => ToolOutput::text(result),
    };
    let done: Vec<_> = steps.iter().map(|(tool, result)| (*tool, json!({}), output(result))).collect();
    let messages = conversation(task, &done);
    Claims::of(&messages, &Seen::of(&messages), "", None)
}

fn judged(task: &str, steps: &[(&str, &str)], answer: &str) -> Judgement {
    claims(task, steps).judge(answer, true)
}

#[test]
fn who_changed_nothing_may_not_say_that_it_is_done() {
    let undone = Judgement::Doubted(Doubt::Undone);
    for claim in [
        "I renamed a to b.",
        "I have successfully removed the line.",
        "I've added it.",
        "Done.",
        "Updated a.txt.",
        "The function has been renamed in all files.",
        "The line is wrong. I fixed it.",
        "I found the error and fixed it.",
    ] {
        assert_eq!(judged("Rename a to b.", &[LOOKED], claim), undone, "{claim}");
        assert_eq!(judged("Could you rename a to b?", &[], claim), undone, "{claim}");
        assert_eq!(judged("Rename a.", &[(EDIT, "Error: not there")], claim), undone, "{claim}");
        assert_eq!(judged("Rename a.", &[(EDIT, "Edited a.txt")], claim), Judgement::Believed, "{claim}");
        assert_eq!(judged("What did you do?", &[], claim), Judgement::Believed, "{claim}");
    }
    assert_eq!(judged("Run the tests.", &[LOOKED], "I ran the tests: alpha is well."), undone);
    let ran = [(SHELL, "Error: 1 failed")];
    assert_eq!(judged("Run the tests.", &ran, "I ran the tests: 1 failed."), Judgement::Believed);
}

#[test]
fn other_answers_are_believed() {
    for answer in [
        "The port is set to eighty.",
        "No, it is not there.",
        "I could not find it: alpha.txt has none.",
        "Hello!",
    ] {
        assert_eq!(judged("Do something.", &[LOOKED], answer), Judgement::Believed, "{answer}");
    }
}

#[test]
fn who_looked_says_what_was_seen() {
    let listed = "I listed the files and folders.";
    assert_eq!(judged("What is here?", &[LOOKED], listed), Judgement::Doubted(Doubt::Empty));
    assert_eq!(judged("What is here?", &[LOOKED], "I see alpha.txt and notes."), Judgement::Believed);
    assert_eq!(judged("What is here?", &[], listed), Judgement::Believed);
}

#[test]
fn who_knows_where_the_answer_is_looks_there() {
    let asked = |answer: &str| {
        let message = Message::user("Files here: a.toml, docs/b.md\nWhich port is it?");
        let messages = [Arc::new(message)];
        Claims::of(&messages, &Seen::of(&messages), "", None).judge(answer, true)
    };
    let elsewhere = Judgement::Doubted(Doubt::Elsewhere("a.toml".to_owned()));
    assert_eq!(asked("The port is the one specified in a.toml."), elsewhere);
    assert_eq!(asked("It is set in the file `a.toml`."), elsewhere);
    for answer in ["It is set in other.toml.", "a.toml is a file.", "It is on, as a.toml says."] {
        assert_eq!(asked(answer), Judgement::Believed, "{answer}");
    }
}

#[test]
fn nothing_is_decided_before_enough_has_come() {
    let asked = claims("What is here?", &[LOOKED]);
    assert_eq!(asked.judge("The function", false), Judgement::Open);
    assert_eq!(asked.judge("The function is in alpha. It", false), Judgement::Believed);
    assert_eq!(asked.judge("I looked at it. And", false), Judgement::Open);
    assert_eq!(asked.judge("I looked at it. And saw alpha", false), Judgement::Believed);
    assert_eq!(asked.judge(&"word ".repeat(100), false), Judgement::Believed);
    let told = claims("Rename a to b.", &[LOOKED]);
    assert_eq!(told.judge("The function is in alpha. It", false), Judgement::Open);
    assert_eq!(told.judge("The function is in alpha. It", true), Judgement::Believed);
}

#[test]
fn a_number_that_is_nowhere_is_not_believed() {
    let read = [("developer__read", "1\trust-version = \"1.95\"")];
    let doubted = Judgement::Doubted(Doubt::Unfounded("1.51.0".to_owned()));
    assert_eq!(judged("Which Rust is it?", &read, "It is 1.51.0."), doubted);
    assert_eq!(judged("Which Rust is it?", &read, "It is 1.95."), Judgement::Believed);
    assert_eq!(judged("Is it 1.51.0?", &read, "No, it is not 1.51.0."), Judgement::Believed);
    // The number may go on.
    let asked = claims("Which Rust is it?", &read);
    assert_eq!(asked.judge("It is right. It is 1.9", false), Judgement::Believed);
}

#[test]
fn a_file_that_was_asked_for_must_be_there() {
    let undone = Judgement::Doubted(Doubt::Undone);
    assert_eq!(judged("Put them into names.txt", &[LOOKED], "names.txt has them."), undone);
    assert_eq!(judged("What is in names.txt?", &[LOOKED], "It is not there."), Judgement::Believed);
}
