use goose_extension::{JsonObject, Message, MessageContent, Role, Tool, ToolOutput};
use goose_providers::{Reply, RequestOptions};
use goose_test_support::tiny_model;
use serde_json::json;

use super::*;

/// Returns the reply of a model with this template to a conversation with a call.
async fn templated(template: &str) -> anyhow::Result<Reply> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pieces.gguf");
    tiny_model::write_pieces(&file, Some(template))?;
    let options = LoadOptions { file, threads: Some(1), context: 2_000, cache: None };
    let provider = LocalProvider { is_templated: true, ..LocalProvider::new("pieces", options) };
    let call = MessageContent::ToolCall {
        id: "1".to_owned(),
        name: "developer__read".to_owned(),
        arguments: json!({ "path": "a" }),
        opaque: None,
    };
    let result = MessageContent::tool_result("1", ToolOutput::text("the cat </s>"));
    let messages =
        [Message::user("the cat"), Message::new(Role::Assistant, [call]), Message::new(Role::User, [result])]
            .map(std::sync::Arc::new);
    let tools = [Tool::new("developer__read", "Read", JsonObject::new())];
    let options = RequestOptions { max_tokens: Some(40), ..RequestOptions::default() };
    let request = Request { system: "Be brief.", messages: &messages, tools: &tools, options: &options };
    Ok(Reply::collect(provider.stream(request).await?).await?)
}

#[tokio::test]
async fn a_larger_model_is_prompted_through_its_template() -> anyhow::Result<()> {
    let template = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% for message in messages %}\
                    [{{ message.role }}] {{ message.content }}{% for call in message.tool_calls or [] %}\
                    <tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}</s>{% endfor %}\
                    [assistant]";
    let reply = templated(template).await?;
    assert!(reply.usage.input > 100 && reply.usage.output > 0, "{:?}", reply.usage);
    let refused = templated("{{ raise_exception('no roles here') }}").await.expect_err("it refuses");
    assert!(refused.to_string().contains("no roles here"), "{refused}");
    Ok(())
}

#[test]
fn templates_are_used_by_larger_models_that_call_tools() {
    let template = Some("{% if tools %}<tool_call>{% endif %}");
    assert!(calls_tools(7_600_000_000, template));
    assert!(!calls_tools(1_500_000_000, template), "too small");
    assert!(!calls_tools(7_600_000_000, Some("<|im_start|>")), "no tools");
    assert!(!calls_tools(7_600_000_000, Some("{{ tools }} <function=")), "a shape that is not known");
    assert!(!calls_tools(7_600_000_000, None));
}
