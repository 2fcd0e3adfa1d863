//! Repeated requests: always the same bytes, always valid, whatever the history holds.

use std::sync::Arc;

use goose_extension::{ContentBlock, Message, MessageContent, Role, ToolOutput};
use goose_providers::{Dialect, Endpoint, ModelInfo, RequestOptions};
use serde_json::{Value, json};

use super::{
    server::{Answer, Server},
    speak::{ALL, Stop, Tongue},
    talk::{ask, ask_with, call, shell_tool},
};

fn turn(number: usize) -> [Arc<Message>; 2] {
    let id = format!("call_{number}");
    let result = MessageContent::tool_result(&id, ToolOutput::text(format!("result {number}")));
    [
        Message::new(
            Role::Assistant,
            [MessageContent::text("Now."), call(&id, "shell", json!({"n": number}))],
        )
        .into(),
        Message::new(Role::User, [result]).into(),
    ]
}

async fn answering(tongue: Tongue) -> Server {
    let frames = [vec![tongue.text("ok")], tongue.stop(Stop::End)].concat();
    Server::always(Answer::events(frames)).await
}

/// A request begins with the bytes of the one before it, so that the service's cache fits; the marks for that cache are
/// the one thing that moves.
#[tokio::test]
async fn a_longer_conversation_begins_with_the_same_bytes() {
    for tongue in ALL {
        let server = answering(tongue).await;
        let provider = tongue.at(&server);
        let options = RequestOptions { conversation: Some("talk-1".into()), ..Default::default() };
        let mut history = vec![Message::user("hello").into()];
        for number in 0..6 {
            ask_with(&*provider, "Be good.", &history, &[shell_tool()], &options).await.reply();
            history.extend(turn(number));
        }
        let bodies: Vec<String> = server.asked().into_iter().map(|asked| asked.body).collect();
        for pair in bodies.windows(2) {
            let mark = r#","cache_control":{"type":"ephemeral"}"#;
            let (before, after) = (pair[0].replace(mark, ""), pair[1].replace(mark, ""));
            let before = before.strip_suffix("]}").unwrap();
            assert!(after.starts_with(before), "{tongue:?}:\n{before}\n{after}");
        }
        // A fresh provider that has written nothing before writes the same.
        history.truncate(history.len() - 2);
        let again = answering(tongue).await;
        ask_with(&*tongue.at(&again), "Be good.", &history, &[shell_tool()], &options).await.reply();
        assert_eq!(again.asked()[0].body, *bodies.last().unwrap(), "{tongue:?}");
    }
}

/// Behind a gateway Claude's cache is told what to keep: the last two texts of the user, neither results nor images.
#[tokio::test]
async fn marks_for_claude_are_put_on_texts() {
    let tongue = Tongue::Chat;
    let server = answering(tongue).await;
    let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
    let endpoint = Endpoint { dialect: Dialect::Gateway, ..endpoint };
    let provider = tongue.provider(endpoint, ModelInfo::new("anthropic/claude-sonnet-5.5", 8_000));
    let image = MessageContent::Block(ContentBlock::image("iVBORw0KGgo=", "image/png"));
    let [asked, answered] = turn(0);
    let history = [
        Message::user("one").into(),
        Message::user("two").into(),
        Message::user("three").into(),
        asked,
        answered,
        Message::new(Role::User, [image]).into(),
    ];
    for _ in 0..2 {
        ask(&*provider, &history).await.reply();
        let body: Value = serde_json::from_str(&server.asked().pop().unwrap().body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let marked: Vec<&str> = messages
            .iter()
            .filter(|message| message["content"][0]["cache_control"] == json!({"type": "ephemeral"}))
            .filter_map(|message| message["content"][0]["text"].as_str())
            .collect();
        assert_eq!(marked, ["two", "three"]);
        assert_eq!(body.to_string().matches("cache_control").count(), 2, "{body}");
        assert_eq!(messages[4]["content"], "result 0");
    }
}

/// NUL, empty texts, huge and damaged images, sounds, links: the request is valid, bounded, and says what is
/// missing.
#[tokio::test]
async fn strange_results_make_valid_requests() {
    for tongue in ALL {
        let output = ToolOutput::content([
            ContentBlock::text(""),
            ContentBlock::text("a\0b"),
            ContentBlock::image("A".repeat(28 * 1024 * 1024), "image/png"),
            ContentBlock::image("not base64!", "image/png"),
            ContentBlock::audio("AAAA", "audio/wav"),
            ContentBlock::image("iVBORw0KGgo=", "image/png"),
        ]);
        let history = [
            Message::user("hello").into(),
            Message::new(
                Role::Assistant,
                [
                    MessageContent::text(" "),
                    call("bad id!", "no.such tool", json!({})),
                    call("b", "", Value::Null),
                ],
            )
            .into(),
            Message::new(
                Role::User,
                [
                    MessageContent::tool_result("bad id!", output),
                    MessageContent::tool_result("b", ToolOutput::empty()),
                ],
            )
            .into(),
            Message::new(Role::Assistant, []).into(),
        ];
        let server = answering(tongue).await;
        ask(&*tongue.at(&server), &history).await.reply();

        let body = server.asked()[0].body.clone();
        let value: Value = serde_json::from_str(&body).unwrap();
        assert!(body.len() < 4_000, "{tongue:?}: {} bytes", body.len());
        assert!(
            !body.contains("\\u0000") && !body.contains("null") && !body.contains(r#""text":"""#),
            "{body}"
        );
        for said in ["a\u{fffd}b", "it is too large", "damaged", "audio/wav", "iVBORw0KGgo=", "(no output)"] {
            assert!(body.contains(said), "{tongue:?}: {said} in {body}");
        }
        let (list, call_id, result_id) = match tongue {
            Tongue::Chat => (&value["messages"], "/1/tool_calls/0/id", "/2/tool_call_id"),
            Tongue::Responses => (&value["input"], "/1/call_id", "/3/call_id"),
            Tongue::Anthropic => (&value["messages"], "/1/content/0/id", "/2/content/0/tool_use_id"),
            Tongue::Gemini => {
                (&value["contents"], "/1/parts/0/functionCall/id", "/2/parts/0/functionResponse/id")
            }
            Tongue::Converse => {
                (&value["messages"], "/1/content/0/toolUse/toolUseId", "/2/content/0/toolResult/toolUseId")
            }
        };
        let id = list.pointer(call_id).and_then(Value::as_str).unwrap();
        assert_eq!(list.pointer(result_id).and_then(Value::as_str), Some(id), "{tongue:?}: {body}");
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{id}");
    }
}

#[tokio::test]
async fn a_model_that_cannot_see_is_told_of_images() {
    for tongue in ALL {
        let server = answering(tongue).await;
        let mut model = ModelInfo::new("blind", 8_000);
        model.sees_images = false;
        let provider = tongue.provider(tongue.endpoint(&format!("http://{}/", server.address())), model);
        let image = MessageContent::Block(ContentBlock::image("iVBORw0KGgo=", "image/png"));
        ask(&*provider, &[Message::new(Role::User, [image]).into()]).await.reply();
        let body = &server.asked()[0].body;
        assert!(
            body.contains("the model cannot look at images") && !body.contains("iVBORw0"),
            "{tongue:?}: {body}"
        );
    }
}
