//! The most common line of a server, read without detours: the result of a call.
//!
//! An answer does not say what kind of result it carries, so rmcp tries all kinds in turn, and that of a call comes near
//! the end. What is a call's result beyond doubt is read as one at once; everything else is left to rmcp.

use rmcp::{
    RoleClient,
    model::{CallToolResult, JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, RequestId, ServerResult},
    service::RxJsonRpcMessage,
};
use serde::{Deserialize, de::IgnoredAny};

#[derive(Deserialize)]
struct Answer {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
    method: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// The result of a call, where the line is one and has content.
pub(super) fn call_result(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let Answer { jsonrpc, id, result, method: None, error: None } = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let is_clear = !result.content.is_empty() || result.structured_content.is_some();
    let result = is_clear.then_some(ServerResult::CallToolResult(result))?;
    Some(JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages do not compare, but what they print does.
    fn shown(message: Option<RxJsonRpcMessage<RoleClient>>) -> Option<String> {
        message.map(|message| format!("{message:?}"))
    }

    #[test]
    fn a_result_of_a_call_is_read_as_rmcp_reads_it() {
        for result in [
            r#"{"content":[{"type":"text","text":"a"}]}"#,
            r#"{"resultType":"complete","content":[],"structuredContent":null,"isError":true}"#,
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1},"_meta":{"b":2},"new":3}"#,
        ] {
            for id in ["7", r#""7""#] {
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                let (ours, theirs) = (call_result(line.as_bytes()), serde_json::from_str(&line).ok());
                assert!(ours.is_some(), "{line}");
                assert_eq!(shown(ours), shown(theirs), "{line}");
            }
        }
    }

    #[test]
    fn everything_else_is_left_to_rmcp() {
        for line in [
            "",
            "{",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"resultType":"complete"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","content":[{"type":"text","text":"a"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:b","text":"c"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{"content":[{"type":"text","text":"a"}]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ] {
            assert!(call_result(line.as_bytes()).is_none(), "{line}");
        }
    }
}
