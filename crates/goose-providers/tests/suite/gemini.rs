//! Google's Gemini at its own address, and at Google's cloud.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::{sync::Arc, time::Duration};

use goose_extension::{ContentBlock, Message, MessageContent, Role, Tool, ToolOutput};
use goose_providers::{Provider, ProviderError, StopReason, Usage};
use serde_json::{Value, json};

use crate::{
    asking::{ask, ask_hello, provider},
    loopback::{Answer, Hanging, Loopback},
};

const HELLO_EVENT: &str = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hel\"}]}}]}\n\n";

fn events(events: &[Value]) -> Answer {
    let text: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
    Answer::new(200, text).with_header("content-type", "text/event-stream")
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn finished(reason: &str) -> Value {
    json!({
        "candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": reason}],
        "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 5, "thoughtsTokenCount": 2,
            "cachedContentTokenCount": 4, "totalTokenCount": 19},
    })
}

async fn gemini(answers: Vec<Answer>) -> (Loopback, Arc<dyn Provider>) {
    let server = Loopback::start(answers).await;
    let url = server.url();
    let provider = provider("google:gemini-2.5-flash", [("GOOGLE_HOST", &url), ("GOOGLE_API_KEY", "k-123")]);
    (server, provider)
}

fn shell() -> Tool {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    Tool::new("developer__shell", "Runs a command", schema.as_object().unwrap().clone())
}

#[tokio::test]
async fn text_thoughts_and_costs_come_through() {
    let (server, gemini) = gemini(vec![events(&[
        parts(json!([{"text": "I should greet.", "thought": true}])),
        parts(json!([{"text": "Hel"}])),
        parts(json!([{"text": "lo"}])),
        finished("STOP"),
    ])])
    .await;

    let reply = ask_hello(&*gemini).await.unwrap();

    assert_eq!(reply.message.text(), "Hello");
    assert!(
        matches!(&reply.message.content[0], MessageContent::Reasoning(thought) if thought.text == "I should greet.")
    );
    assert_eq!(reply.stop, StopReason::EndTurn);
    assert_eq!(reply.usage, Usage { input: 12, output: 7, cached_input: 4, cache_write: 0 });
    let asked = server.only();
    assert_eq!(asked.target, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(asked.header("x-goog-api-key"), Some("k-123"));
    assert_eq!(asked.body["generationConfig"]["maxOutputTokens"], 100);
    assert_eq!(asked.body["systemInstruction"]["parts"][0]["text"], "You are goose.");
}

#[tokio::test]
async fn calls_are_told_apart_and_go_back_with_their_signatures() {
    let call =
        |command: &str| json!({"functionCall": {"name": "developer__shell", "args": {"command": command}}});
    let mut signed = call("ls");
    signed["thoughtSignature"] = json!("sig-1");
    let (server, gemini) = gemini(vec![
        events(&[parts(json!([signed, call("pwd")])), parts(json!([call("id")])), finished("STOP")]),
        events(&[parts(json!([{"text": "Done"}])), finished("STOP")]),
    ])
    .await;
    let question = Arc::new(Message::user("Look around"));

    let reply = ask(&*gemini, &[Arc::clone(&question)], &[shell()]).await.unwrap();

    assert_eq!(reply.stop, StopReason::ToolUse);
    let ids: Vec<String> = reply.message.call_ids().map(str::to_owned).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");

    let image =
        ToolOutput::content([ContentBlock::text("two files"), ContentBlock::image("iVBORw0=", "image/png")]);
    let results = [image, ToolOutput::text("/"), ToolOutput::error("no such user")];
    let results =
        ids.iter().zip(results).map(|(id, output)| MessageContent::tool_result(id.as_str(), output));
    let results = Arc::new(Message::new(Role::User, results));
    ask(&*gemini, &[question, Arc::new(reply.message), results], &[shell()]).await.unwrap();

    let contents = &server.asked()[1].body["contents"];
    assert_eq!(
        contents[1]["parts"][0],
        json!({"functionCall": {"name": "developer__shell", "args": {"command": "ls"}}, "thoughtSignature": "sig-1"})
    );
    assert_eq!(contents[2]["parts"][1]["functionResponse"]["name"], "developer__shell");
    assert_eq!(contents[2]["parts"][2]["functionResponse"]["response"]["content"], "Error: no such user");
    let sent_image = &contents[3]["parts"][0]["inline_data"];
    assert_eq!(*sent_image, json!({"mime_type": "image/png", "data": "iVBORw0="}));
}

/// What kind of refusal it is decides what happens next.
#[tokio::test]
async fn refusals_are_told_apart() {
    let error = |code: u16, words: &str| json!({"error": {"code": code, "message": words}}).to_string();
    let said = async |answer: Answer| {
        let (_server, gemini) = gemini(vec![answer]).await;
        ask_hello(&*gemini).await.unwrap_err()
    };
    let key = Some("GOOGLE_API_KEY".to_owned());
    for answer in [Answer::new(401, error(401, "who?")), Answer::new(400, error(400, "API key not valid."))] {
        let error = said(answer).await;
        assert!(matches!(&error, ProviderError::Auth { key: named, .. } if *named == key), "{error:?}");
    }
    let busy = Answer::new(429, error(429, "slow down")).with_header("retry-after", "7");
    assert_eq!(
        said(busy).await,
        ProviderError::RateLimited { message: "slow down".into(), retry_after: Some(Duration::from_secs(7)) }
    );
    let failed = said(Answer::new(500, error(500, "oops"))).await;
    assert!(matches!(failed, ProviderError::Server { status: Some(500), .. }), "{failed:?}");
    let long =
        said(Answer::new(400, error(400, "The input token count exceeds the maximum number of tokens")))
            .await;
    assert!(matches!(long, ProviderError::ContextLength { .. }), "{long:?}");
    let inside = said(events(&[
        parts(json!([{"text": "Hi"}])),
        json!({"error": {"code": 503, "message": "overloaded"}}),
    ]))
    .await;
    assert!(matches!(inside, ProviderError::Server { .. }), "{inside:?}");
    let blocked = said(events(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})])).await;
    assert!(matches!(blocked, ProviderError::Refused { .. }), "{blocked:?}");
}

/// An answer that was cut is no answer.
#[tokio::test]
async fn a_cut_answer_is_an_error() {
    let half = || events(&[parts(json!([{"text": "Hel"}]))]);
    for answer in [half(), half().broken(), Answer::new(200, "")] {
        let (_server, gemini) = gemini(vec![answer]).await;
        let error = ask_hello(&*gemini).await.unwrap_err();
        assert!(matches!(error, ProviderError::Network { .. }), "{error:?}");
    }
    let (_server, gemini) = gemini(vec![Answer::new(200, "<html>busy</html>")]).await;
    let error = ask_hello(&*gemini).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Protocol { message } if message.contains("web page")),
        "{error:?}"
    );
}

#[tokio::test]
async fn nobody_there_is_said() {
    let provider =
        provider("google:gemini-2.5-flash", [("GOOGLE_HOST", "http://127.0.0.1:1"), ("GOOGLE_API_KEY", "k")]);
    let error = ask_hello(&*provider).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Network { message } if message.contains("127.0.0.1:1")),
        "{error:?}"
    );
}

/// Malformed arguments, and more of them than is read.
#[tokio::test]
async fn too_much_is_cut_off() {
    let text = "x".repeat(64 * 1024);
    let flood: Vec<Value> = (0..200).map(|_| parts(json!([{"text": text}]))).collect();
    let (_server, gemini_flood) = gemini(vec![events(&flood)]).await;
    let error = ask_hello(&*gemini_flood).await.unwrap_err();
    assert!(matches!(&error, ProviderError::Protocol { message } if message.contains("8 MiB")), "{error:?}");

    let long = json!({"functionCall": {"name": "a", "args": {"text": "x".repeat(2 * 1024 * 1024)}}});
    let list = json!({"functionCall": {"name": "b", "args": [1, 2]}});
    let (_server, gemini_long) = gemini(vec![events(&[parts(json!([long, list])), finished("STOP")])]).await;
    let reply = ask_hello(&*gemini_long).await.unwrap();
    let kept: Vec<usize> = reply
        .message
        .content
        .iter()
        .filter_map(|part| match part {
            MessageContent::ToolCall { arguments: Value::String(raw), .. } => Some(raw.len()),
            _ => None,
        })
        .collect();
    assert!(kept.len() == 2 && kept.iter().all(|bytes| *bytes < 10_000), "{kept:?}");

    let calls: Vec<Value> = (0..500).map(|_| json!({"functionCall": {"name": "a", "args": {}}})).collect();
    let (_server, gemini_calls) = gemini(vec![events(&[parts(json!(calls)), finished("STOP")])]).await;
    assert!(matches!(ask_hello(&*gemini_calls).await, Err(ProviderError::Protocol { .. })));
}

/// One event that does not end is not kept, however much of it comes, and neither is one refusal.
#[tokio::test]
async fn one_huge_event_and_one_huge_refusal_are_cut_off() {
    let mut endless = events(&[parts(json!([{"text": "Hi"}]))]);
    endless.append(format!("data: {{\"note\": \"{}", "x".repeat(20 * 1024 * 1024)));
    let (_server, gemini_endless) = gemini(vec![endless]).await;
    let error = ask_hello(&*gemini_endless).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Protocol { message } if message.contains("one event is larger than 16 MiB")),
        "{error:?}"
    );

    let busy = Answer::new(429, "slow ".repeat(5 * 1024 * 1024)).with_header("retry-after", "7");
    let (_server, gemini_busy) = gemini(vec![busy]).await;
    let error = ask_hello(&*gemini_busy).await.unwrap_err();
    let ProviderError::RateLimited { message, retry_after } = &error else { panic!("{error:?}") };
    assert!(message.len() < 2_000, "{}", message.len());
    assert_eq!(*retry_after, Some(Duration::from_secs(7)));
}

/// An event as large as it may be comes through in good time.
#[tokio::test]
async fn one_large_event_within_the_caps_comes_through() {
    let mut event = parts(json!([{"text": "Hi"}]));
    event["note"] = json!("n".repeat(15 * 1024 * 1024));
    let (_server, gemini) = gemini(vec![events(&[event, finished("STOP")])]).await;
    assert_eq!(ask_hello(&*gemini).await.unwrap().message.text(), "Hi");
}

/// A service that says nothing is not waited for for ever.
#[tokio::test]
async fn silence_is_noticed() {
    let (silent, url) = Hanging::start("").await;
    let settings = [("GOOGLE_HOST", url.as_str()), ("GOOGLE_API_KEY", "k-123"), ("GOOGLE_TIMEOUT", "1")];
    let error = ask_hello(&*provider("google:gemini-2.5-flash", settings)).await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Network { message } if message.contains("no data from google")),
        "{error:?}"
    );
    silent.left().await;
}

/// A dropped stream stops the service too, before the answer has begun and after.
#[tokio::test]
async fn dropping_ends_the_request() {
    let begun = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{0:x}\r\n{1}\r\n",
        HELLO_EVENT.len(),
        HELLO_EVENT
    );
    for said in ["", &begun] {
        let (hanging, url) = Hanging::start(said).await;
        let settings = [("GOOGLE_HOST", url.as_str()), ("GOOGLE_API_KEY", "k-123")];
        let gemini = provider("google:gemini-2.5-flash", settings);
        let asking = tokio::spawn(async move { ask_hello(&*gemini).await });
        let hanging = hanging.asked().await;
        asking.abort();
        hanging.left().await;
    }
}

/// Counts of any size are taken.
#[tokio::test]
async fn huge_counts_do_no_harm() {
    let mut end = finished("STOP");
    end["usageMetadata"]["candidatesTokenCount"] = json!(u64::MAX);
    let (_server, gemini) = gemini(vec![events(&[parts(json!([{"text": "Hi"}])), end])]).await;
    let reply = ask_hello(&*gemini).await.unwrap();
    assert_eq!((reply.message.text(), reply.usage.output), ("Hi".to_owned(), u64::MAX));
}

/// At Google's cloud the publisher is part of the address, and the key is a token.
#[tokio::test]
async fn gemini_and_claude_are_asked_at_googles_cloud() {
    let server = Loopback::start(vec![
        events(&[parts(json!([{"text": "Hi"}])), finished("STOP")]),
        Answer::new(200, "data: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": \"end_turn\"}}\n\ndata: {\"type\": \"message_stop\"}\n\n"),
    ])
    .await;
    let url = server.url();
    let settings = [("GCP_ACCESS_TOKEN", "k-123"), ("GCP_PROJECT_ID", "p"), ("VERTEX_HOST", &url)];
    ask_hello(&*provider("gcp_vertex_ai:gemini-2.5-pro", settings)).await.unwrap();
    ask_hello(&*provider("gcp_vertex_ai:claude-sonnet-4-5@20250929", settings)).await.unwrap();

    let [gemini, claude] = server.asked().try_into().ok().unwrap();
    let base = "/v1/projects/p/locations/us-central1/publishers";
    assert_eq!(gemini.target, format!("{base}/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"));
    assert_eq!(claude.target, format!("{base}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"));
    for asked in [&gemini, &claude] {
        assert_eq!(asked.header("authorization"), Some("Bearer k-123"));
    }
    assert_eq!(claude.body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!((&claude.body["model"], &claude.body["stream"]), (&Value::Null, &json!(true)));
}

/// Each way to stop is known.
#[tokio::test]
async fn every_stop_has_a_meaning() {
    for (reason, expected) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refused),
        ("MALFORMED_FUNCTION_CALL", StopReason::Other("MALFORMED_FUNCTION_CALL".into())),
    ] {
        let (_server, gemini) = gemini(vec![events(&[finished(reason)])]).await;
        let reply = ask_hello(&*gemini).await.unwrap();
        assert_eq!((reply.stop, reply.message.content.len()), (expected, 0), "{reason}");
    }
}
