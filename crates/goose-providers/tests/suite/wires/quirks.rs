//! Deviations of single services from the protocols.

use goose_extension::{Message, MessageContent, Reasoning};
use goose_providers::{ProviderError, StopReason};
use serde_json::{Value, json};

use super::{
    server::{Answer, Server},
    speak::{ALL, Stop, Tongue, frame},
    talk::{ask, call},
};

async fn chat(deltas: &[Value]) -> goose_providers::Reply {
    let mut frames: Vec<Vec<u8>> =
        deltas.iter().map(|delta| frame("", &json!({ "choices": [{ "delta": delta }] }))).collect();
    frames.push(b"data: [DONE]\n\n".to_vec());
    Tongue::Chat.hear(Answer::events(frames)).await.reply()
}

fn piece(value: Value) -> Value {
    json!({ "tool_calls": [value] })
}

#[tokio::test]
async fn chat_calls_without_an_index_are_told_apart() {
    let reply = chat(&[
        piece(json!({ "id": "a", "function": { "name": "shell", "arguments": "{\"x\":" } })),
        piece(json!({ "function": { "arguments": "1}" } })),
        piece(json!({ "id": "b", "function": { "name": "read", "arguments": "{}" } })),
        piece(json!({ "index": null, "function": { "name": "tree", "arguments": "{\"y\":2}" } })),
    ])
    .await;
    let names: Vec<&str> = reply
        .message
        .content
        .iter()
        .map(|part| match part {
            MessageContent::ToolCall { name, .. } => name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["shell", "read", "tree"]);
    assert_eq!(reply.message.content[0], call("a", "shell", json!({"x": 1})));
}

#[tokio::test]
async fn chat_indices_may_be_anything() {
    for index in [json!(4_000_000_000_u64), json!(u64::MAX), json!(-1), json!(1.5), json!("zero")] {
        let reply = chat(&[
            piece(
                json!({ "index": index, "id": "a", "function": { "name": "shell", "arguments": "{\"x\":" } }),
            ),
            piece(json!({ "index": index, "function": { "arguments": "1}" } })),
        ])
        .await;
        assert_eq!(reply.message.content, [call("a", "shell", json!({"x": 1}))], "{index}");
    }
}

#[tokio::test]
async fn chat_calls_may_share_an_index() {
    let reply = chat(&[
        piece(json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{}" } })),
        piece(json!({ "index": 0, "id": "b", "function": { "name": "read", "arguments": "{}" } })),
    ])
    .await;
    assert_eq!(reply.message.content, [call("a", "shell", json!({})), call("b", "read", json!({}))]);
}

#[tokio::test]
async fn chat_arguments_may_be_an_object() {
    let reply = chat(&[piece(
        json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": {"x": 1} } }),
    )])
    .await;
    assert_eq!(reply.message.content, [call("a", "shell", json!({"x": 1}))]);
}

#[tokio::test]
async fn chat_content_may_come_in_parts() {
    let thinking = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }]);
    let text = json!([{ "type": "text", "text": "Hello" }]);
    let reply = chat(&[json!({ "content": thinking }), json!({ "content": text, "reasoning": null })]).await;
    let thought = Reasoning { text: "hm".into(), opaque: None };
    assert_eq!(reply.message.content, [MessageContent::Reasoning(thought), MessageContent::text("Hello")]);
}

/// Perplexity repeats in each event all that came so far.
#[tokio::test]
async fn chat_events_may_hold_the_whole_message_too() {
    let piece = |delta: &str, message: &str| {
        let choice = json!({ "delta": { "content": delta }, "message": { "content": message } });
        frame("", &json!({ "choices": [choice] }))
    };
    let frames = [piece("Hel", "Hel"), piece("lo", "Hello"), b"data: [DONE]\n\n".to_vec()];
    let reply = Tongue::Chat.hear(Answer::events(frames)).await.reply();
    assert_eq!(reply.message.text(), "Hello");
}

#[tokio::test]
async fn chat_refusals_are_refusals() {
    let reply = chat(&[json!({ "refusal": "I will not." })]).await;
    assert_eq!((reply.message.text(), reply.stop), ("I will not.".to_owned(), StopReason::Refused));
}

/// Gateways put errors of the services behind them in various places.
#[tokio::test]
async fn chat_errors_have_several_forms() {
    let slow = json!({ "code": 429, "message": "slow down" });
    let forms = [
        (
            "",
            json!({ "choices": [{ "delta": { "content": "" }, "finish_reason": "error", "error": slow }] }),
            true,
        ),
        (
            "",
            json!({ "id": "x", "error": slow, "choices": [{ "delta": {}, "finish_reason": "error" }] }),
            true,
        ),
        ("error", slow.clone(), true),
        ("", json!({ "choices": [{ "delta": {}, "finish_reason": "error" }] }), false),
    ];
    for (name, form, is_limited) in forms {
        let error = Tongue::Chat.hear(Answer::events([frame(name, &form)])).await.failure();
        assert_eq!(matches!(error, ProviderError::RateLimited { .. }), is_limited, "{form}: {error:?}");
        assert!(error.is_transient(), "{form}: {error:?}");
    }
}

/// Gemini wants its signature back with the call.
#[tokio::test]
async fn chat_extra_content_goes_round() {
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let delta = piece(
        json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{}" }, "extra_content": extra }),
    );
    let frames = vec![frame("", &json!({ "choices": [{ "delta": delta, "finish_reason": "tool_calls" }] }))];
    let server = Server::always(Answer::events(frames)).await;
    let provider = Tongue::Chat.at(&server);
    let message = ask(&*provider, &[Message::user("hello").into()]).await.reply().message;
    ask(&*provider, &[Message::user("hello").into(), message.into()]).await.reply();
    let body: Value = serde_json::from_str(&server.asked()[1].body).unwrap();
    assert_eq!(body.pointer("/messages/1/tool_calls/0/extra_content"), Some(&extra), "{body}");
}

/// OpenRouter's details come in pieces, before the text and with the call, and go back joined.
#[tokio::test]
async fn chat_reasoning_details_go_round() {
    let text = |text: &str| json!({ "type": "reasoning.text", "index": 0, "format": "a", "text": text });
    let signature = json!({ "type": "reasoning.text", "index": 0, "text": "", "signature": "c2ln" });
    let sealed = json!({ "type": "reasoning.encrypted", "index": 1, "id": "a", "data": "c2VhbA==" });
    let call = json!({ "index": 0, "id": "a", "function": { "name": "shell", "arguments": "{}" } });
    let deltas = [
        json!({ "reasoning": "Fi", "reasoning_details": [text("Fi")] }),
        json!({ "reasoning": "rst", "reasoning_details": [text("rst")] }),
        json!({ "reasoning_details": [signature] }),
        json!({ "content": "Now." }),
        json!({ "tool_calls": [call], "reasoning_details": [sealed] }),
    ];
    let chunk = |delta: &Value| frame("", &json!({ "choices": [{ "delta": delta }] }));
    let frames = deltas.iter().map(chunk).chain([b"data: [DONE]\n\n".to_vec()]);
    let server = Server::always(Answer::events(frames)).await;
    let provider = Tongue::Chat.at(&server);

    let message = ask(&*provider, &[Message::user("hello").into()]).await.reply().message;
    ask(&*provider, &[Message::user("hello").into(), message.into()]).await.reply();

    let body: Value = serde_json::from_str(&server.asked()[1].body).unwrap();
    let whole =
        json!({ "type": "reasoning.text", "index": 0, "format": "a", "text": "First", "signature": "c2ln" });
    assert_eq!(body.pointer("/messages/1/reasoning_details"), Some(&json!([whole, sealed])), "{body}");
}

/// A thought that nothing follows is not sent: the services refuse it.
#[tokio::test]
async fn a_lone_thought_is_not_sent() {
    for tongue in ALL {
        let frames = [tongue.thought("Only ", "this."), tongue.stop(Stop::End)].concat();
        let server = Server::always(Answer::events(frames)).await;
        let provider = tongue.at(&server);
        let message = ask(&*provider, &[Message::user("hello").into()]).await.reply().message;
        ask(&*provider, &[Message::user("hello").into(), message.into(), Message::user("well?").into()])
            .await
            .reply();
        let body = &server.asked()[1].body;
        assert!(!body.contains("Only this.") && !body.contains("assistant"), "{tongue:?}: {body}");
        assert!(!body.contains(r#""role":"model""#), "{tongue:?}: {body}");
    }
}

/// Responses: some services send only whole items, or only the whole answer; nothing is said twice.
#[tokio::test]
async fn responses_may_come_without_pieces() {
    let item = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hello" }] });
    let done = frame("", &json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    let delta =
        frame("", &json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hello" }));
    let other = frame(
        "",
        &json!({ "type": "response.output_item.added", "output_index": 1, "item": { "type": "reasoning" } }),
    );
    let completed =
        |output: Value| frame("", &json!({ "type": "response.completed", "response": { "output": output } }));
    let ways = [
        vec![done.clone(), completed(json!([item]))],
        vec![completed(json!([item]))],
        vec![delta.clone(), done.clone(), completed(json!([item]))],
        vec![delta.clone(), completed(json!([item]))],
        vec![delta, other, done, completed(json!([item]))],
    ];
    for frames in ways {
        let reply = Tongue::Responses.hear(Answer::events(frames)).await.reply();
        assert_eq!(reply.message, Message::assistant("Hello"));
    }
}

#[tokio::test]
async fn responses_errors_have_several_forms() {
    let forms = [
        json!({ "type": "error", "code": "rate_limit_exceeded", "message": "Please try again in 2s." }),
        json!({ "type": "error", "error": { "type": "tokens", "code": "rate_limit_exceeded", "message": "Please try again in 2s." } }),
        json!({ "type": "response.failed", "response": { "error": { "code": "rate_limit_exceeded", "message": "Please try again in 2s." } } }),
    ];
    for form in forms {
        let error = Tongue::Responses.hear(Answer::events([frame("", &form)])).await.failure();
        assert!(matches!(error, ProviderError::RateLimited { .. }), "{form}: {error:?}");
        assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(2)));
    }
}

/// Anthropic: thoughts that may not be read, inputs that come at once, blocks and deltas of kinds to come.
#[tokio::test]
async fn anthropic_blocks_of_all_kinds_are_read() {
    let event = |data: Value| frame("", &data);
    let start = |index: u64, block: Value| {
        event(json!({ "type": "content_block_start", "index": index, "content_block": block }))
    };
    let stop = |index: u64| event(json!({ "type": "content_block_stop", "index": index }));
    let frames = vec![
        start(0, json!({ "type": "redacted_thinking", "data": "cmVk" })),
        stop(0),
        start(1, json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} })),
        event(
            json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "future_delta", "x": 1 } }),
        ),
        stop(1),
        start(2, json!({ "type": "tool_use", "id": "a", "name": "shell", "input": { "x": 1 } })),
        event(json!({ "type": "future_event" })),
        event(
            json!({ "type": "message_delta", "delta": { "stop_reason": "model_context_window_exceeded" } }),
        ),
        event(json!({ "type": "message_stop" })),
    ];
    let server = Server::always(Answer::events(frames)).await;
    let provider = Tongue::Anthropic.at(&server);

    let reply = ask(&*provider, &[Message::user("hello").into()]).await.reply();

    assert_eq!(reply.stop, StopReason::MaxTokens);
    assert_eq!(reply.message.content[1], call("a", "shell", json!({"x": 1})));
    ask(&*provider, &[Message::user("hello").into(), reply.message.into()]).await.reply();
    let body = &server.asked()[1].body;
    assert!(body.contains(r#"{"type":"redacted_thinking","data":"cmVk"}"#), "{body}");
}

/// Gemini 3 signs calls, may sign the end of a text apart, and wants a signature with calls of other models too.
#[tokio::test]
async fn gemini_signatures_go_back_where_they_were() {
    let chunk = |parts: Value| frame("", &json!({ "candidates": [{ "content": { "parts": parts } }] }));
    let function = |id: &str| json!({ "id": id, "name": "shell", "args": {} });
    let text =
        [chunk(json!([{ "text": "Done." }])), chunk(json!([{ "text": "", "thoughtSignature": "end" }]))];
    let calls = [chunk(json!([
        { "text": "Signed.", "thoughtSignature": "text" },
        { "functionCall": function("a"), "thoughtSignature": "call" },
        { "functionCall": function("b") },
    ]))];
    let stop = Tongue::Gemini.stop(Stop::End);
    let answers = [[calls.to_vec(), stop.clone()].concat(), [text.to_vec(), stop].concat()];
    let server = Server::scripted(move |number| Answer::events(answers[number.min(1)].clone())).await;
    let url = url::Url::parse(&format!("http://{}/v1", server.address())).unwrap();
    let model = goose_providers::ModelInfo::new("gemini-3.1-pro-preview", 200_000);
    let provider = Tongue::Gemini.provider(goose_providers::Endpoint::new("example", url), model);

    let foreign = call("c", "shell", json!({}));
    let mut history =
        vec![Message::user("hello").into(), Message::new(goose_extension::Role::Assistant, [foreign]).into()];
    for _ in 0..2 {
        let message = ask(&*provider, &history).await.reply().message;
        history.push(message.into());
    }
    ask(&*provider, &history).await.reply();

    let body: Value = serde_json::from_str(&server.asked()[2].body).unwrap();
    let sent = |message: usize| body["contents"][message]["parts"].clone();
    let call = |id: &str| json!({ "functionCall": function(id) });
    let signed = |mut part: Value, signature: &str| {
        part["thoughtSignature"] = json!(signature);
        part
    };
    assert_eq!(sent(1), json!([signed(call("c"), "skip_thought_signature_validator")]));
    assert_eq!(
        sent(2),
        json!([signed(json!({ "text": "Signed." }), "text"), signed(call("a"), "call"), call("b")])
    );
    assert_eq!(sent(3), json!([{ "text": "Done." }, signed(json!({ "text": "" }), "end")]));
}

/// Amazon's exceptions are told apart by name.
#[tokio::test]
async fn converse_exceptions_have_meanings() {
    let said = async |name: &str, words: &str| {
        let frame = crate::bedrock::frame("exception", name, &json!({ "message": words }));
        Tongue::Converse.hear(Answer::events([Tongue::Converse.text("Hel"), frame])).await.failure()
    };
    let busy = said("throttlingException", "Too many tokens, please wait").await;
    assert!(matches!(busy, ProviderError::RateLimited { .. }), "{busy:?}");
    let long = said("validationException", "Input is too long for requested model.").await;
    assert!(matches!(long, ProviderError::ContextLength { .. }), "{long:?}");
    let wrong = said("validationException", "bad field").await;
    assert!(matches!(wrong, ProviderError::Refused { status: Some(400), .. }), "{wrong:?}");
    let broken = said("modelStreamErrorException", "oops").await;
    assert!(matches!(broken, ProviderError::Server { status: Some(500), .. }), "{broken:?}");
}
