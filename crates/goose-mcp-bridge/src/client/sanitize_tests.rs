//! Untrusted texts, pictures and sounds.

use serde_json::json;

use super::*;

fn shown(block: ContentBlock) -> ContentBlock {
    result(CallToolResult::success(vec![block])).content.remove(0)
}

#[test]
fn nul_is_removed_and_every_other_character_stays() {
    let text = "a\0b\u{1}\u{1b}[31m\u{fffd}\n\t\u{202e}ü\0";
    assert_eq!(shown(ContentBlock::text(text)), ContentBlock::text("ab\u{1}\u{1b}[31m\u{fffd}\n\t\u{202e}ü"));
}

#[test]
fn invisible_characters_of_a_description_are_escaped() {
    let text = "a\0b\u{1b}[31m\n\t\u{202e}ü\u{e0041}";
    assert_eq!(prose(text.to_owned()), "ab\\u{1b}[31m\n\t\\u{202e}ü\\u{e0041}");
}

#[test]
fn titles_and_descriptions_of_a_schema_are_escaped_and_its_values_stay() {
    let given = json!({
        "description": "a\u{e0041}",
        "properties": { "description": { "type": "string", "enum": ["b\u{202e}"], "title": "c\u{200b}" } },
        "anyOf": [{ "description": "d\u{7}" }],
    });
    let expected = json!({
        "description": "a\\u{e0041}",
        "properties": { "description": { "type": "string", "enum": ["b\u{202e}"], "title": "c\\u{200b}" } },
        "anyOf": [{ "description": "d\\u{7}" }],
    });
    let mut schema = given.as_object().cloned().unwrap_or_default();
    make_schema_visible(&mut schema);
    assert_eq!(Value::Object(schema), expected);
}

#[test]
fn valid_media_stay_without_their_line_breaks() {
    for data in ["QUJD", "QUI=", "QQ==", "+/+/"] {
        assert_eq!(shown(ContentBlock::image(data, "image/png")), ContentBlock::image(data, "image/png"));
    }
    assert_eq!(
        shown(ContentBlock::audio("QU\nJD\r\n", "audio/wav")),
        ContentBlock::audio("QUJD", "audio/wav")
    );
}

#[test]
fn invalid_media_become_a_text_that_says_so() {
    for data in ["", "QUJ", "QUJ!", "=QUJ", "Q===", "QU-_", "QUJDü"] {
        let block = shown(ContentBlock::image(data, "image/png"));
        let text = block.as_text().map(|text| text.text.as_str()).unwrap_or_default();
        assert!(text.contains("broken") && text.contains("image/png"), "{data}: {block:?}");
    }
}

#[test]
fn media_that_are_too_large_become_a_text_that_says_so() {
    let largest = "A".repeat(MAX_MEDIA_BYTES);
    assert!(shown(ContentBlock::image(largest.clone(), "image/png")).as_image().is_some());
    let block = shown(ContentBlock::image(largest + "AAAA", "image/png"));
    assert!(block.as_text().is_some_and(|text| text.text.contains("too large")), "{block:?}");
}

#[test]
fn an_empty_result_stays_empty_and_an_empty_failure_says_that_it_failed() {
    assert!(result(CallToolResult::success(Vec::new())).content.is_empty());
    assert_eq!(result(CallToolResult::error(Vec::new())).content.len(), 1);
}

#[test]
fn long_prose_is_cut_between_characters() {
    for letter in ["a", "ü", "漢", "🦆"] {
        let cut = prose(letter.repeat(MAX_PROSE_BYTES + 1));
        assert!(cut.len() <= MAX_PROSE_BYTES && cut.ends_with(CUT), "{letter}");
        let short = letter.repeat(100);
        assert_eq!(prose(short.clone()), short);
    }
}

fn blob(data: &str) -> ResourceContents {
    ResourceContents::blob(data, "file:///a").with_mime_type("application/pdf")
}

fn text_of(contents: ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text,
        other => format!("{other:?}"),
    }
}

#[test]
fn invalid_or_oversized_blobs_become_texts() {
    let large = "A".repeat(MAX_MEDIA_BYTES + 4);
    for (data, word) in [("not base64!", "broken"), (large.as_str(), "too large")] {
        let text = text_of(contents(blob(data)));
        assert!(text.contains(word) && text.contains("application/pdf"), "{text}");
        let block = shown(ContentBlock::resource(blob(data)));
        assert!(block.as_text().is_some_and(|text| text.text.contains(word)), "{block:?}");
    }
    for data in ["", "QUJD"] {
        assert_eq!(contents(blob(data)), blob(data));
    }
    assert_eq!(contents(blob("QU\nJD")), blob("QUJD"));
}

#[test]
fn a_prompt_is_sanitized_like_a_result() {
    let messages = [
        ContentBlock::text("a\0b"),
        ContentBlock::image("!", "image/png"),
        ContentBlock::resource(blob("!")),
    ];
    let role = rmcp::model::Role::User;
    let messages = messages.into_iter().map(|content| rmcp::model::PromptMessage::new(role.clone(), content));
    let vetted = prompt(GetPromptResult::new(messages.collect()).with_description("d\0"));
    assert_eq!(vetted.description.as_deref(), Some("d"));
    let texts: Vec<_> = vetted
        .messages
        .iter()
        .map(|message| message.content.as_text().map(|text| text.text.as_str()))
        .collect();
    assert_eq!(texts[0], Some("ab"));
    assert!(texts[1..].iter().all(|text| text.is_some_and(|text| text.contains("broken"))), "{texts:?}");
}
