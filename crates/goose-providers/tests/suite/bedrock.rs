//! Amazon's Converse at its own address.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use goose_providers::{Provider, ProviderError, StopReason, Usage};
use serde_json::{Value, json};

use crate::{
    asking::{ask, ask_hello, provider},
    loopback::{Answer, Loopback},
};

const MODEL: &str = "aws_bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/// One message of Amazon's binary framing.
pub(crate) fn frame(kind: &str, event: &str, payload: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    let event_header = if kind == "event" { ":event-type" } else { ":exception-type" };
    for (name, value) in [(":message-type", kind), (event_header, event)] {
        headers.push(u8::try_from(name.len()).unwrap());
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string().into_bytes();
    let total = u32::try_from(16 + headers.len() + payload.len()).unwrap();
    let mut bytes = total.to_be_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes.extend_from_slice(&headers);
    bytes.extend_from_slice(&payload);
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes
}

/// CRC 32.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

fn events(events: &[(&str, Value)]) -> Answer {
    let bytes: Vec<u8> = events.iter().flat_map(|(event, payload)| frame("event", event, payload)).collect();
    Answer::new(200, bytes)
}

fn delta(delta: Value) -> (&'static str, Value) {
    ("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": delta}))
}

fn end(reason: &str) -> [(&'static str, Value); 2] {
    let usage = json!({"usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12}});
    [("messageStop", json!({"stopReason": reason})), ("metadata", usage)]
}

async fn bedrock(answers: Vec<Answer>) -> (Loopback, Arc<dyn Provider>) {
    let server = Loopback::start(answers).await;
    let url = server.url();
    let provider = provider(MODEL, [("BEDROCK_HOST", &url), ("AWS_BEARER_TOKEN_BEDROCK", "k-123")]);
    (server, provider)
}

#[tokio::test]
async fn text_and_calls_in_pieces_come_through_and_go_back() {
    let [stop, usage] = end("tool_use");
    let tool = json!({"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t-1", "name": "developer__shell"}}});
    let pieces = r#"{"command":"ls"}"#.chars().map(|c| delta(json!({"toolUse": {"input": c.to_string()}})));
    let mut said = vec![
        ("messageStart", json!({"role": "assistant"})),
        delta(json!({"reasoningContent": {"text": "Hm."}})),
        delta(json!({"reasoningContent": {"signature": "si"}})),
        delta(json!({"reasoningContent": {"signature": "g"}})),
        ("contentBlockStop", json!({})),
        delta(json!({"text": "Let me look."})),
        ("contentBlockStart", tool),
    ];
    said.extend(pieces);
    said.extend([("contentBlockStop", json!({})), stop, usage]);
    let (server, bedrock) = bedrock(vec![events(&said)]).await;
    let question = Arc::new(Message::user("Look"));

    let reply = ask(&*bedrock, &[Arc::clone(&question)], &[]).await.unwrap();

    assert_eq!(reply.stop, StopReason::ToolUse);
    assert_eq!(reply.usage, Usage { input: 9, output: 3, ..Usage::default() });
    let [MessageContent::Reasoning(thought), text, MessageContent::ToolCall { id, arguments, .. }] =
        reply.message.content.as_slice()
    else {
        panic!("{:?}", reply.message)
    };
    assert_eq!((thought.text.as_str(), text.as_text()), ("Hm.", Some("Let me look.")));
    assert_eq!((id.as_str(), arguments), ("t-1", &json!({"command": "ls"})));

    let result = Message::new(Role::User, [MessageContent::tool_result("t-1", ToolOutput::text("a.txt"))]);
    ask(&*bedrock, &[question, Arc::new(reply.message), Arc::new(result)], &[]).await.unwrap();

    let asked = &server.asked()[1];
    assert_eq!(asked.header("authorization"), Some("Bearer k-123"));
    let model = "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
    assert_eq!(asked.target, format!("/model/{model}/converse-stream"));
    let back = asked.body["messages"].to_string();
    for expected in ["\"signature\":\"sig\"", "\"text\":\"Hm.\"", "\"toolUseId\":\"t-1\"", "a.txt"] {
        assert!(back.contains(expected), "{expected} in {back}");
    }
}

/// Arguments that are too large are counted, not kept, and the model is told.
#[tokio::test]
async fn arguments_in_large_pieces_are_capped() {
    let [stop, usage] = end("tool_use");
    let tool = json!({"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t-1", "name": "developer__shell"}}});
    let piece = "x".repeat(512 * 1024);
    let mut said = vec![("messageStart", json!({"role": "assistant"})), ("contentBlockStart", tool)];
    said.push(delta(json!({"toolUse": {"input": "{\"command\":\""}})));
    said.extend((0..3).map(|_| delta(json!({"toolUse": {"input": piece}}))));
    said.extend([("contentBlockStop", json!({})), stop, usage]);
    let (_server, bedrock) = bedrock(vec![events(&said)]).await;

    let reply = ask_hello(&*bedrock).await.unwrap();

    let [MessageContent::ToolCall { arguments: Value::String(raw), .. }] = reply.message.content.as_slice()
    else {
        panic!("{:?}", reply.stop)
    };
    assert!(raw.len() < 10_000, "{}", raw.len());
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let said = async |answer: Answer| {
        let (_server, bedrock) = bedrock(vec![answer]).await;
        ask_hello(&*bedrock).await.unwrap_err()
    };
    let refused =
        said(Answer::new(403, json!({"message": "The security token is invalid"}).to_string())).await;
    let key = Some("AWS_BEARER_TOKEN_BEDROCK".to_owned());
    assert!(matches!(&refused, ProviderError::Auth { key: named, .. } if *named == key), "{refused:?}");
    let busy = said(Answer::new(429, json!({"message": "Too many requests"}).to_string())).await;
    assert!(matches!(busy, ProviderError::RateLimited { .. }), "{busy:?}");
    let cut = said(events(&[delta(json!({"text": "Hel"}))])).await;
    assert!(matches!(cut, ProviderError::Network { .. }), "{cut:?}");
    let noise = said(Answer::new(200, vec![0xff; 64])).await;
    assert!(!matches!(noise, ProviderError::Auth { .. }), "{noise:?}");
}
