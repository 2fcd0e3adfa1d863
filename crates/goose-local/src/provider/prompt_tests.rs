use goose_extension::{JsonObject, Tool};

use super::{super::conversation_tests, *};

#[test]
fn the_opening_with_the_developers_tools() {
    let (turns, before) = opening(&conversation_tests::tools(), "Be kind.");
    assert_eq!(turns.len(), 35);
    assert_eq!(before, "Those were examples. This is another folder.\nBe kind.");
    let system = &turns[0].text;
    assert!(system.contains(r#"To look: {"tool":"read","path":"README.md"} shows a file, "#), "{system}");
    assert!(
        system.contains(r#"To run: {"tool":"shell","command":"cp -r docs backup"} runs any command"#),
        "{system}"
    );
    assert!(turns[3].text.ends_with("\n\nTask: When does the shop open?"), "{}", turns[3].text);
}

#[test]
fn other_tools_are_listed_without_examples() {
    let tools = [Tool::new("weather__forecast", "The weather of the next days. Slow.", JsonObject::new())];
    let (turns, before) = opening(&Tools::new(&tools, &["weather".to_owned()]), "");
    assert_eq!((turns.len(), before.as_str()), (1, ""));
    let line = r#"For the rest: {"tool":"forecast"} the weather of the next days."#;
    assert!(turns[0].text.contains(line), "{}", turns[0].text);
}
