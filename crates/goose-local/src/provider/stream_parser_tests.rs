use serde_json::json;

use super::{super::conversation_tests::tools, *};

/// Returns the texts that are passed on if the object arrives in these pieces.
fn texts(pieces: &[&str]) -> Vec<String> {
    let tools = tools();
    let mut parser = StreamParser::new(&tools);
    let texts = pieces.iter().filter_map(|piece| {
        parser.push(piece);
        parser.new_text()
    });
    texts.collect()
}

#[test]
fn answer_text_is_passed_on_in_whole_characters() {
    let pieces = [
        r#"{"tool":"final_ans"#,
        r#"wer","text":"He"#,
        r#"llo \"#,
        r#"n\u00"#,
        r#"e4 \ud83e"#,
        r#"\udd86"#,
        r#" end"}"#,
    ];
    assert_eq!(texts(&pieces).concat(), "Hello \nä 🦆 end");
    assert_eq!(texts(&pieces[..3]), ["He", "llo "]);
    assert_eq!(texts(&["{ \"tool\": \"final_answer\", \"text\" : \"Hi\" }"]), ["Hi"]);
    assert!(texts(&[r#"{"tool":"read","path":"text"}"#]).is_empty());
}

#[test]
fn tool_and_path_are_known_once_they_are_complete() {
    let tools = tools();
    let mut parser = StreamParser::new(&tools);
    parser.push(r#"{"tool":"ed"#);
    assert_eq!((parser.tool().is_none(), parser.path()), (true, None));
    parser.push(r#"it","path":"./a \"b\".t"#);
    assert!(parser.tool().is_some_and(|tool| tool.name == "developer__edit") && parser.path().is_none());
    parser.push(r#"xt","before":"x"#);
    assert_eq!(parser.path().as_deref(), Some("a \"b\".txt"));
    assert!(!parser.is_answer());
}

#[test]
fn a_call_gets_its_fixed_arguments() {
    let call = |raw: &str, why: Option<&str>| {
        let tools = tools();
        let mut parser = StreamParser::new(&tools);
        parser.push(raw);
        parser.call("7", why)
    };
    let searched = call(r#"{"tool":"search","pattern":"x"}"#, None);
    assert_eq!((searched.id.as_str(), searched.name.as_str()), ("7", "developer__search"));
    let expected = json!({ "pattern": "x", "ignore_case": true, "context_lines": 2 });
    assert_eq!(searched.arguments, Arguments::Object(expected.as_object().cloned().unwrap()));
    for (raw, why) in [
        (r#"{"tool":"read","pa"#, None),
        (r#"{"tool":"nothing"}"#, None),
        (r#"{"tool":"read","path":"a"}"#, Some("cut off")),
    ] {
        assert!(matches!(call(raw, why).arguments, Arguments::Malformed { .. }), "{raw}");
    }
}
