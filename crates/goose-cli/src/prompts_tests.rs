//! Tests of conversations: questions as servers ask them, and a person who answers from a list.

use std::sync::Mutex;

use goose_extension::{ElicitAction, Elicitation, Elicited, ToolResult, prelude::async_trait};
use serde_json::{Value, json};
use url::Url;

use super::{Dialogue, elicit};

/// A person with prepared answers. What they are shown is kept. After the last answer comes Ctrl-D.
struct Prepared {
    answers: Mutex<Vec<&'static str>>,
    seen: Mutex<String>,
}

impl Prepared {
    fn new(answers: &[&'static str]) -> Self {
        Self { answers: Mutex::new(answers.iter().rev().copied().collect()), seen: Mutex::default() }
    }

    fn see(&self, text: &str) {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(text);
        seen.push('\n');
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl Dialogue for Prepared {
    fn tell(&self, line: &str) {
        self.see(line);
    }

    async fn ask(&self, prompt: &str) -> Option<String> {
        let answer = self.answers.lock().unwrap().pop();
        self.see(&format!("{prompt}{}", answer.unwrap_or("^D")));
        answer.map(|answer| format!("{answer}\n"))
    }

    async fn open(&self, _server: &str, url: &Url) -> ToolResult<()> {
        self.see(&format!("opened {url}"));
        Ok(())
    }
}

fn form(properties: Value, required: &[&str]) -> serde_json::Result<Elicitation> {
    serde_json::from_value(json!({
        "mode": "form",
        "message": "Tell me",
        "requestedSchema": { "type": "object", "properties": properties, "required": required },
    }))
}

fn page(url: &str) -> serde_json::Result<Elicitation> {
    serde_json::from_value(json!({
        "mode": "url", "message": "Sign in", "url": url, "elicitationId": "1",
    }))
}

fn accepted(content: Value) -> Elicited {
    Elicited::new(ElicitAction::Accept).with_content(content)
}

#[tokio::test]
async fn a_form_is_asked_field_by_field() -> serde_json::Result<()> {
    // As text, because the order counts.
    let question = r#"{ "mode": "form", "message": "Tell me", "requestedSchema": {
        "type": "object",
        "properties": {
            "who": { "type": "string", "title": "Your name", "description": "As friends say it" },
            "age": { "type": "integer", "minimum": 1, "maximum": 150 },
            "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"], "default": "l" },
            "news": { "type": "boolean" }
        },
        "required": ["who", "age"]
    } }"#;
    let person = Prepared::new(&["", "Ada", "old", "200", "36", "", "maybe", "y"]);
    let answer = elicit(&person, "notes", serde_json::from_str(question)?).await;
    assert_eq!(answer, accepted(json!({ "who": "Ada", "age": 36, "size": "l", "news": true })));
    assert_eq!(
        person.seen(),
        "The extension `notes` asks: Tell me\n\
         (Ctrl-D declines, !cancel cancels the call)\n\
         \u{20} As friends say it\n\
         Your name (text): \n\
         \u{20} An answer is required.\n\
         Your name (text): Ada\n\
         age (whole number from 1 to 150): old\n\
         \u{20} Give a whole number from 1 to 150.\n\
         age (whole number from 1 to 150): 200\n\
         \u{20} Give a whole number from 1 to 150.\n\
         age (whole number from 1 to 150): 36\n\
         \u{20} 1) Small\n\
         \u{20} 2) Large\n\
         size (one of these, optional; Enter for Large): \n\
         news (yes or no, optional): maybe\n\
         \u{20} Give yes or no.\n\
         news (yes or no, optional): y\n"
    );
    Ok(())
}

#[tokio::test]
async fn every_kind_of_field_is_checked() -> serde_json::Result<()> {
    let cases = [
        (json!({ "type": "number", "maximum": 1.5 }), "2", "1.25", json!(1.25)),
        (json!({ "type": "integer" }), "1.5", "-7", json!(-7)),
        (json!({ "type": "string", "minLength": 3 }), "ab", "äöü", json!("äöü")),
        (json!({ "type": "string", "format": "email" }), "ada", "ada@example.com", json!("ada@example.com")),
        (json!({ "type": "string", "format": "date" }), "tomorrow", "2026-07-28", json!("2026-07-28")),
        (json!({ "type": "string", "format": "uri" }), "here", "https://x.org", json!("https://x.org")),
        (json!({ "type": "string", "enum": ["a", "b"] }), "3", "2", json!("b")),
        (
            json!({ "type": "string", "oneOf": [{ "const": "x1", "title": "One" }] }),
            "two",
            "one",
            json!("x1"),
        ),
        (
            json!({ "type": "array", "maxItems": 2, "items": { "type": "string", "enum": ["a", "b", "c"] } }),
            "a,b,c",
            "c, 1",
            json!(["c", "a"]),
        ),
    ];
    for (schema, wrong, right, value) in cases {
        let person = Prepared::new(&[wrong, right]);
        let answer = elicit(&person, "notes", form(json!({ "it": schema }), &["it"])?).await;
        assert_eq!(answer, accepted(json!({ "it": value })), "{schema}: {}", person.seen());
    }
    Ok(())
}

#[tokio::test]
async fn a_question_can_be_declined_and_cancelled() -> serde_json::Result<()> {
    let question = || form(json!({ "a": { "type": "string" }, "b": { "type": "string" } }), &["a", "b"]);
    let declined = elicit(&Prepared::new(&["one"]), "notes", question()?).await;
    assert_eq!(declined, Elicited::new(ElicitAction::Decline));
    let cancelled = elicit(&Prepared::new(&["one", "!cancel"]), "notes", question()?).await;
    assert_eq!(cancelled, Elicited::new(ElicitAction::Cancel));
    Ok(())
}

#[tokio::test]
async fn a_page_is_opened_only_with_consent() -> serde_json::Result<()> {
    let url = "https://example.com/a?b=c";
    for (answers, action, opened) in [
        (vec!["perhaps", "yes"], ElicitAction::Accept, true),
        (vec![""], ElicitAction::Decline, false),
        (vec!["no"], ElicitAction::Decline, false),
        (vec![], ElicitAction::Decline, false),
        (vec!["!cancel"], ElicitAction::Cancel, false),
    ] {
        let person = Prepared::new(&answers);
        assert_eq!(elicit(&person, "notes", page(url)?).await, Elicited::new(action));
        assert!(person.seen().contains(&format!("  {url}\n")), "{}", person.seen());
        assert_eq!(person.seen().contains("\nopened "), opened, "{}", person.seen());
    }
    Ok(())
}

#[tokio::test]
async fn only_pages_of_the_web_are_opened() -> serde_json::Result<()> {
    for url in ["file:///etc/passwd", "javascript:alert(1)", "https://", "-a Calculator"] {
        let person = Prepared::new(&["yes"]);
        let answer = elicit(&person, "notes", page(url)?).await;
        assert_eq!(answer, Elicited::new(ElicitAction::Decline), "{url}");
        assert!(!person.seen().contains("\nopened "), "{}", person.seen());
    }
    Ok(())
}

#[tokio::test]
async fn what_a_server_says_cannot_move_the_cursor() -> serde_json::Result<()> {
    let hostile = "\u{1b}[2J\u{202e}\r";
    let question = form(
        json!({ hostile: { "type": "string", "title": hostile, "description": hostile, "default": hostile } }),
        &[],
    )?;
    let person = Prepared::new(&[""]);
    elicit(&person, hostile, question).await;
    elicit(&person, "notes", page(&format!("https://example.com/{hostile}"))?).await;
    assert!(!person.seen().contains(['\u{1b}', '\u{202e}', '\r']), "{:?}", person.seen());
    Ok(())
}
