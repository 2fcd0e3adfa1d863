//! The scripted model server that the rest of goose is tested with says the same on each wire.

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use goose_providers::{ProviderError, StopReason};
use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use super::{
    speak::Tongue,
    talk::{ask_with, call, shell_tool},
};

/// The wires that the scripted server speaks, and where.
const SPOKEN: [(Tongue, &str); 3] = [
    (Tongue::Chat, "/v1/chat/completions"),
    (Tongue::Responses, "/v1/responses"),
    (Tongue::Anthropic, "/v1/messages"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_the_scripted_server() {
    for (tongue, path) in SPOKEN {
        let turns = [
            Turn::thinking("Hm.").and_text("Looking.").and_call_with_id(
                "call_a",
                "developer__shell",
                r#"{"command":"ls"}"#,
            ),
            Turn::text("Done.").costing(50, 5),
            Turn::status(429, "slow down").with_header("retry-after", "7"),
            Turn::text("Never ends").cut_after(2),
            Turn::text("Never ends").failing_after(2, "overloaded"),
        ];
        let server = ModelServer::scripted(turns).unwrap();
        let provider = tongue.provider(tongue.endpoint(&format!("{}{}", server.url(), path)), tongue.model());
        let tools = [shell_tool()];
        let options = goose_providers::RequestOptions::default();
        let mut history = vec![Message::user("What is here?").into()];

        let first = ask_with(&*provider, "Be good.", &history, &tools, &options).await.reply();
        assert_eq!(first.stop, StopReason::ToolUse, "{tongue:?}");
        assert!(matches!(first.message.content[0], MessageContent::Reasoning(_)), "{tongue:?}: {first:?}");
        let said =
            [MessageContent::text("Looking."), call("call_a", "developer__shell", json!({"command": "ls"}))];
        assert_eq!(first.message.content[1..], said, "{tongue:?}");

        let result = MessageContent::tool_result("call_a", ToolOutput::text("a.txt"));
        history.extend([first.message.into(), Message::new(Role::User, [result]).into()]);
        let second = ask_with(&*provider, "Be good.", &history, &tools, &options).await.reply();
        assert_eq!((second.message, second.usage.output), (Message::assistant("Done."), 5), "{tongue:?}");
        let asked = server.asked();
        assert_eq!(asked[1].tool_results(), [("call_a".to_owned(), "a.txt".to_owned())], "{tongue:?}");
        assert_eq!(asked[0].tool_names(), ["developer__shell"]);

        let limited = ask_with(&*provider, "", &history, &tools, &options).await.failure();
        assert_eq!(limited.retry_after().map(|wait| wait.as_secs()), Some(7), "{tongue:?}");
        let cut = ask_with(&*provider, "", &history, &tools, &options).await.failure();
        assert!(matches!(cut, ProviderError::Network { .. }), "{tongue:?}: {cut:?}");
        let failed = ask_with(&*provider, "", &history, &tools, &options).await.failure();
        assert!(failed.is_transient() && failed.to_string().contains("overloaded"), "{tongue:?}: {failed:?}");
    }
}
