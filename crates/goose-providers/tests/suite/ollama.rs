//! Ollama's own API: the room for the conversation is said, and nothing is cut without a word.

use std::sync::Arc;

use goose_extension::{ContentBlock, Message, MessageContent, Role, Tool, ToolOutput};
use goose_providers::{
    ModelOverrides, ModelRef, Provider, ProviderError, Registry, Reply, Request, RequestOptions, StopReason,
    Usage,
};
use serde_json::{Value, json};

use crate::{
    asking::{ask, ask_hello, provider, set},
    loopback::{Answer, Loopback},
};

fn lines(lines: &[Value]) -> Answer {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Answer::new(200, text).with_header("content-type", "application/x-ndjson")
}

fn said(message: Value) -> Value {
    json!({"model": "qwen3:8b", "message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 20, "eval_count": 4})
}

async fn ollama(answers: Vec<Answer>) -> (Loopback, Arc<dyn Provider>) {
    let server = Loopback::start(answers).await;
    let host = server.url().replace("http://", "");
    let provider = provider("ollama:qwen3:8b", [("OLLAMA_HOST", &host)]);
    (server, provider)
}

#[tokio::test]
async fn the_schema_of_an_answer_is_its_format() {
    let (server, ollama) = ollama(vec![lines(&[said(json!({"content": "{}"})), done("stop")])]).await;
    let schema = json!({"type": "object"});
    let options = RequestOptions { schema: Some(schema.clone()), ..RequestOptions::default() };
    let messages = [Arc::new(Message::user("Hi"))];
    let request = Request { system: "", messages: &messages, tools: &[], options: &options };
    Reply::collect(ollama.stream(request).await.unwrap()).await.unwrap();
    assert_eq!(server.only().body["format"], schema);
}

#[tokio::test]
async fn text_and_thoughts_come_through_and_the_room_is_said() {
    let (server, ollama) = ollama(vec![lines(&[
        said(json!({"role": "assistant", "thinking": "Greet.", "reasoning_content": "Greet."})),
        said(json!({"content": "Hel"})),
        said(json!({"content": "lo"})),
        done("stop"),
    ])])
    .await;

    let reply = ask_hello(&*ollama).await.unwrap();

    assert_eq!(reply.message.text(), "Hello");
    assert!(
        matches!(&reply.message.content[0], MessageContent::Reasoning(thought) if thought.text == "Greet.")
    );
    assert_eq!(reply.usage, Usage { input: 20, output: 4, ..Usage::default() });
    assert_eq!(reply.stop, StopReason::EndTurn);
    let asked = server.only();
    assert_eq!((asked.target.as_str(), asked.header("authorization")), ("/api/chat", None));
    assert_eq!(asked.body["model"], "qwen3:8b");
    assert_eq!(asked.body["options"], json!({"num_ctx": 32768, "num_predict": 100, "temperature": 0.5}));
    assert_eq!(asked.body["truncate"], false);
    assert_eq!(asked.body["messages"][0], json!({"role": "system", "content": "You are goose."}));
}

#[tokio::test]
async fn calls_and_results_are_tied_by_name() {
    let call = |name: &str| json!({"function": {"name": name, "arguments": {"path": "a"}}});
    let (server, ollama) = ollama(vec![
        lines(&[said(json!({"content": "", "tool_calls": [call("read"), call("tree")]})), done("stop")]),
        lines(&[said(json!({"content": "Done"})), done("length")]),
    ])
    .await;
    let tool = Tool::new("read", "Reads a file", json!({"type": "object"}).as_object().unwrap().clone());
    let image = ContentBlock::image("iVBORw0=", "image/png");
    let question =
        Arc::new(Message::new(Role::User, [MessageContent::text("Look"), MessageContent::Block(image)]));

    let reply = ask(&*ollama, &[Arc::clone(&question)], std::slice::from_ref(&tool)).await.unwrap();

    assert_eq!(reply.stop, StopReason::ToolUse);
    let ids: Vec<String> = reply.message.call_ids().map(str::to_owned).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    let results = [ToolOutput::text("one"), ToolOutput::error("two")];
    let results =
        ids.iter().zip(results).map(|(id, output)| MessageContent::tool_result(id.as_str(), output));
    let results = Arc::new(Message::new(Role::User, results));
    let last = ask(&*ollama, &[question, Arc::new(reply.message), results], &[tool]).await.unwrap();

    assert_eq!(last.stop, StopReason::MaxTokens);
    let asked = &server.asked()[1].body;
    assert_eq!(asked["tools"][0]["function"]["name"], "read");
    // A model that reads text only is told what it does not see.
    assert!(asked["messages"][1]["content"].as_str().unwrap().contains("cannot look at images"));
    assert_eq!(asked["messages"][2]["tool_calls"], json!([call("read"), call("tree")]));
    assert_eq!(asked["messages"][3], json!({"role": "tool", "content": "one", "tool_name": "read"}));
    assert_eq!(asked["messages"][4], json!({"role": "tool", "content": "Error: two", "tool_name": "tree"}));
}

#[tokio::test]
async fn the_user_decides_how_much_room_there_is() {
    let limit = |pairs: &[(&str, &str)], overrides: ModelOverrides| {
        let mut set = set([("OLLAMA_HOST", "localhost")]);
        set.extend(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let model = ModelRef::new("ollama", "qwen3-coder:30b");
        Registry::default().provider(&model, &set, &overrides).map(|provider| provider.model().context_limit)
    };
    assert_eq!(limit(&[], ModelOverrides::default()), Ok(32_768));
    assert_eq!(
        limit(&[], ModelOverrides { context_limit: Some(100_000), ..ModelOverrides::default() }),
        Ok(100_000)
    );
    assert_eq!(limit(&[("GOOSE_INPUT_LIMIT", "8192")], ModelOverrides::default()), Ok(8_192));
    assert!(limit(&[("GOOSE_INPUT_LIMIT", "much")], ModelOverrides::default()).is_err());
}

/// Refusals, failures in the middle, cut and endless answers.
#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let failed = async |answer: Answer| {
        let (_server, ollama) = ollama(vec![answer]).await;
        ask_hello(&*ollama).await.unwrap_err()
    };
    let half = || lines(&[said(json!({"content": "Hel"}))]);
    for answer in [half(), half().broken(), Answer::new(200, "{\"message\": {\"conte"), Answer::new(200, "")]
    {
        let error = failed(answer).await;
        assert!(matches!(error, ProviderError::Network { .. }), "{error:?}");
    }
    let unknown =
        failed(Answer::new(404, json!({"error": "model \"qwen3:8b\" not found"}).to_string())).await;
    assert!(matches!(unknown, ProviderError::Refused { status: Some(404), .. }), "{unknown:?}");
    let busy = failed(Answer::new(503, json!({"error": "server busy"}).to_string())).await;
    assert!(matches!(busy, ProviderError::Server { status: Some(503), .. }), "{busy:?}");
    let inside =
        failed(lines(&[said(json!({"content": "Hel"})), json!({"error": "llama runner has stopped"})])).await;
    assert!(matches!(inside, ProviderError::Server { .. }), "{inside:?}");
    let page = failed(Answer::new(200, "<html></html>")).await;
    assert!(matches!(page, ProviderError::Protocol { .. }), "{page:?}");
    let endless = failed(Answer::new(200, format!("{{\"message\":\"{}", "x".repeat(17 * 1024 * 1024)))).await;
    assert!(matches!(endless, ProviderError::Protocol { .. }), "{endless:?}");
}
