//! Requests, byte for byte: one rich conversation on each wire, and the fields that models take and refuse.

use std::sync::Arc;

use goose_extension::{ContentBlock, Message, MessageContent, Opaque, Reasoning, Role, ToolOutput};
use goose_providers::{Dialect, Effort, Endpoint, ModelInfo, RequestOptions};
use serde_json::{Value, json};

use super::{
    server::{Answer, Server},
    speak::{ALL, Stop, Tongue},
    talk::{ask_with, call, shell_tool},
};

fn thought(wire: &str, data: Value) -> MessageContent {
    let opaque = Some(Opaque { wire: wire.into(), data });
    MessageContent::Reasoning(Reasoning { text: format!("Thought on {wire}."), opaque })
}

fn rich() -> Vec<Arc<Message>> {
    let image = || ContentBlock::image("iVBORw0KGgo=", "image/png");
    let shown = ToolOutput::content([ContentBlock::text("A picture:"), image()]);
    vec![
        Message::new(Role::User, [MessageContent::text("What is this?"), MessageContent::Block(image())])
            .into(),
        Message::new(
            Role::Assistant,
            [
                thought("anthropic", json!({ "signature": "sig" })),
                thought("openai-responses", json!({ "id": "rs_1", "encrypted_content": "sealed" })),
                thought("openai-chat", json!("reasoning_content")),
                thought("gemini", json!(["sig"])),
                thought("bedrock", json!(["sig"])),
                MessageContent::text("Let me look."),
                call("call_1", "developer__shell", json!({ "command": "ls \"a b\"" })),
                call("call_2", "developer__shell", json!("{\"cut")),
            ],
        )
        .into(),
        Message::new(
            Role::User,
            [
                MessageContent::tool_result("call_1", shown),
                MessageContent::tool_result("call_2", ToolOutput::error("the arguments are cut off")),
            ],
        )
        .into(),
        Message::new(Role::User, [MessageContent::text("And?"), MessageContent::text("Go on.")]).into(),
    ]
}

async fn sent(tongue: Tongue, model: ModelInfo, dialect: Dialect, options: &RequestOptions) -> String {
    let frames = [vec![tongue.text("ok")], tongue.stop(Stop::End)].concat();
    let server = Server::always(Answer::events(frames)).await;
    let endpoint = tongue.endpoint(&format!("http://{}/", server.address()));
    let endpoint = Endpoint { dialect, ..endpoint };
    let provider = tongue.provider(endpoint, model);
    ask_with(&*provider, "You are goose.", &rich(), &[shell_tool()], options).await.reply();
    server.asked()[0].body.clone()
}

fn pretty(body: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<Value>(body).unwrap()).unwrap()
}

fn options() -> RequestOptions {
    RequestOptions {
        temperature: Some(0.7),
        max_tokens: Some(1000),
        effort: Some(Effort::Medium),
        conversation: Some("20261115_1".into()),
        is_ephemeral: false,
        schema: None,
    }
}

#[tokio::test]
async fn a_rich_conversation_on_each_wire() {
    for tongue in ALL {
        let body = sent(tongue, tongue.model(), Dialect::Full, &options()).await;
        assert!(!body.contains("null"), "{body}");
        insta::assert_snapshot!(format!("rich_{tongue:?}"), pretty(&body));
    }
}

/// Without options, no field is sent but those that are needed.
#[tokio::test]
async fn a_server_gets_the_schema_of_the_answer() {
    let schema = json!({ "type": "object" });
    let options = RequestOptions { schema: Some(schema.clone()), ..RequestOptions::default() };
    let body = sent(Tongue::Chat, Tongue::Chat.model(), Dialect::Full, &options).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body["response_format"]["json_schema"]["schema"], schema);
}

#[tokio::test]
async fn a_plain_request_is_small() {
    for tongue in ALL {
        let body =
            sent(tongue, ModelInfo::new("some-model", 8_000), Dialect::Strict, &RequestOptions::default())
                .await;
        let value: Value = serde_json::from_str(&body).unwrap();
        let mut fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let expected: &[&str] = match tongue {
            Tongue::Chat => &["messages", "model", "stream", "tools"],
            Tongue::Responses => &["input", "instructions", "model", "store", "stream", "tools"],
            Tongue::Anthropic => &["max_tokens", "messages", "model", "stream", "system", "tools"],
            Tongue::Gemini => &["contents", "generationConfig", "systemInstruction", "tools"],
            Tongue::Converse => &["inferenceConfig", "messages", "system", "toolConfig"],
        };
        assert_eq!(fields, expected, "{body}");
        assert!(!body.contains("cache_control") && !body.contains("$schema"), "{body}");
        assert!(!body.contains("reasoning_content"), "{body}");
    }
}

/// The fields of a request, in one line for each model.
#[tokio::test]
async fn models_get_the_fields_they_take() {
    let mut lines = Vec::new();
    let table = [
        (Tongue::Chat, "gpt-4.1"),
        (Tongue::Chat, "o3"),
        (Tongue::Chat, "gpt-5"),
        (Tongue::Chat, "gpt-5.1"),
        (Tongue::Chat, "qwen3"),
        (Tongue::Responses, "gpt-4.1"),
        (Tongue::Responses, "gpt-5"),
        (Tongue::Responses, "grok-4"),
        (Tongue::Anthropic, "claude-3-5-haiku"),
        (Tongue::Anthropic, "claude-sonnet-4-5"),
        (Tongue::Anthropic, "claude-sonnet-4-6"),
        (Tongue::Anthropic, "claude-opus-4-7"),
        (Tongue::Gemini, "gemini-2.0-flash"),
        (Tongue::Gemini, "gemini-2.5-pro"),
        (Tongue::Gemini, "gemini-3.1-pro-preview"),
        (Tongue::Gemini, "gemini-flash-latest"),
        (Tongue::Converse, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (Tongue::Converse, "us.anthropic.claude-opus-4-7"),
        (Tongue::Converse, "us.amazon.nova-pro-v1:0"),
        (Tongue::Converse, "us.amazon.nova-2-lite-v1:0"),
        (Tongue::Converse, "openai.gpt-oss-120b-1:0"),
    ];
    for (tongue, name) in table {
        for effort in [None, Some(Effort::None), Some(Effort::High)] {
            let options = RequestOptions { effort, ..options() };
            let body = sent(tongue, ModelInfo::new(name, 8_000), Dialect::Common, &options).await;
            let Value::Object(mut fields) = serde_json::from_str(&body).unwrap() else { panic!("{body}") };
            for known in [
                "model",
                "stream",
                "store",
                "stream_options",
                "tools",
                "messages",
                "input",
                "system",
                "instructions",
                "contents",
                "systemInstruction",
                "toolConfig",
            ] {
                fields.remove(known);
            }
            lines.push(format!("{tongue:?} {name} {effort:?}: {}", Value::Object(fields)));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}
