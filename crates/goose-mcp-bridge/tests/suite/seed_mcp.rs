//! The MCP integration page's examples: a server written against rmcp, served over streams and in-process,
//! the messages it shows, and the standard error codes.

use std::sync::Arc;

use goose_extension::{Extension, prelude::*};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ServeOptions, Target, connect, serve, spawn_and_serve};
use goose_test_support::KitchenSink;
use rmcp::{
    RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// The page's server, with today's signatures.
struct MyMCPServer;

impl ServerHandler for MyMCPServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _params: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let input_schema = json!({
            "type": "object",
            "properties": {
                "input": {"type": "string"}
            },
            "required": ["input"]
        });
        let Value::Object(input_schema) = input_schema else { unreachable!() };
        let tool = rmcp::model::Tool::new("example_tool", "Example tool", input_schema);
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match params.name.as_ref() {
            "example_tool" => {
                // Extract arguments
                let arguments = params.arguments.unwrap_or_default();
                let input = arguments
                    .get("input")
                    .and_then(|v| v.as_str())
                    .ok_or_else(|| ErrorData::invalid_params("Missing input parameter", None))?;
                if input == "missing.txt" {
                    let text = format!("File not found: {input}");
                    return Ok(CallToolResult::error(vec![rmcp::model::ContentBlock::text(text)]).into());
                }
                // Perform operation, return result
                let result = input.to_uppercase();
                Ok(CallToolResult::success(vec![rmcp::model::ContentBlock::text(result)]).into())
            }
            _ => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("Unknown tool: {}", params.name),
                None,
            )),
        }
    }
}

async fn check(extension: Arc<dyn Extension>) {
    assert_eq!(extension.tools().len(), 1);
    assert_eq!(extension.tools()[0].description(), "Example tool");
    let call = async |input: Value| extension.call_tool("example_tool", hashmap! { "input" => input }).await;
    assert_eq!(call(json!("hello")).await, Ok(json!("HELLO")));
    assert_eq!(call(json!(7)).await, Err(ToolError::InvalidParameters("Missing input parameter".into())));
    assert_eq!(
        call(json!("missing.txt")).await,
        Err(ToolError::ExecutionError("File not found: missing.txt".into()))
    );
    assert!(matches!(extension.call_tool("other", HashMap::new()).await, Err(ToolError::NotFound(_))));
}

#[tokio::test]
async fn a_server_written_against_rmcp_is_an_extension_in_process() {
    for lifecycle in [Lifecycle::Auto, Lifecycle::Initialize, Lifecycle::Discover] {
        let (client_read, server_write) = tokio::io::duplex(8192);
        let (server_read, client_write) = tokio::io::duplex(8192);
        spawn_and_serve(MyMCPServer, (server_read, server_write));
        let target = Target::Streams(Box::new(client_read), Box::new(client_write));
        check(connect(target, ConnectOptions { lifecycle, ..ConnectOptions::default() }).await.unwrap())
            .await;
    }
}

#[tokio::test]
async fn a_server_written_against_rmcp_is_an_extension_over_its_own_transport() {
    let (client_read, server_write) = tokio::io::duplex(8192);
    let (server_read, client_write) = tokio::io::duplex(8192);
    tokio::spawn(async move {
        MyMCPServer.serve((server_read, server_write)).await.unwrap().waiting().await.unwrap();
    });
    let target = Target::Streams(Box::new(client_read), Box::new(client_write));
    check(connect(target, ConnectOptions::default()).await.unwrap()).await;
}

/// Sends requests as they are and returns the answers; news in between are passed over.
async fn exchange(stream: DuplexStream, requests: &[Value]) -> Vec<Value> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    let hello = json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
    });
    let mut answers = Vec::new();
    for request in [&hello].into_iter().chain(requests) {
        writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("id").is_some() {
                answers.push(message);
                break;
            }
        }
    }
    answers.split_off(1)
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn the_messages_look_as_the_page_shows_them() {
    let answers = exchange(
        serve(KitchenSink::new()).duplex(),
        &[
            request(1, "tools/list", json!({})),
            request(2, "tools/call", json!({ "name": "text", "arguments": {} })),
            request(3, "resources/list", json!({})),
            request(4, "resources/read", json!({ "uri": "note://1" })),
            request(5, "prompts/list", json!({})),
            request(6, "prompts/get", json!({ "name": "greet", "arguments": { "name": "Ada" } })),
            request(7, "no/such/method", json!({})),
        ],
    )
    .await;
    let echo = &answers[0]["result"]["tools"][0];
    assert_eq!(echo["name"], "echo");
    assert_eq!(echo["description"], "Gives back a message.");
    assert_eq!(echo["inputSchema"]["type"], "object");
    assert_eq!(echo["inputSchema"]["required"], json!(["message"]));
    assert_eq!(answers[1]["result"]["content"][0]["type"], "text");
    assert_eq!(answers[1]["result"]["isError"], json!(false));
    assert_eq!(answers[2]["result"]["resources"][0], json!({ "uri": "note://1", "name": "Note 1" }));
    assert_eq!(answers[3]["result"]["contents"][0]["text"], "Text 1");
    assert_eq!(
        answers[4]["result"]["prompts"][0],
        json!({
            "name": "greet",
            "description": "Greets somebody",
            "arguments": [{ "name": "name", "description": "Whom to greet", "required": true }],
        })
    );
    assert_eq!(
        answers[5]["result"]["messages"][0],
        json!({ "role": "user", "content": { "type": "text", "text": "Greet Ada." } })
    );
    assert_eq!(answers[6]["error"]["code"], -32601);
    for (index, answer) in answers.iter().enumerate() {
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(index + 1)));
    }
}

#[test]
fn the_standard_error_codes_convert_both_ways() {
    let cases = [
        (ErrorCode::METHOD_NOT_FOUND, ToolError::NotFound("m".into())),
        (ErrorCode::INVALID_PARAMS, ToolError::InvalidParameters("m".into())),
        (ErrorCode::INTERNAL_ERROR, ToolError::ExecutionError("m".into())),
        (ErrorCode::PARSE_ERROR, ToolError::Protocol(ErrorData::parse_error("m", None))),
        (ErrorCode::INVALID_REQUEST, ToolError::Protocol(ErrorData::invalid_request("m", None))),
    ];
    for (code, error) in cases {
        let data = ErrorData::new(code, "m", None);
        assert_eq!(ToolError::from(data.clone()), error);
        assert_eq!(ErrorData::from(error), data);
    }
    let codes = [ErrorCode::PARSE_ERROR, ErrorCode::INVALID_REQUEST, ErrorCode::METHOD_NOT_FOUND];
    assert_eq!(codes.map(|code| code.0), [-32700, -32600, -32601]);
    let codes = [ErrorCode::INVALID_PARAMS, ErrorCode::INTERNAL_ERROR];
    assert_eq!(codes.map(|code| code.0), [-32602, -32603]);
}

fn in_pages_of(page_size: usize) -> DuplexStream {
    let options = ServeOptions { page_size, ..ServeOptions::default() };
    serve(KitchenSink::new()).with_options(options).duplex()
}

#[tokio::test]
async fn lists_come_in_pages_and_a_stale_cursor_is_refused() {
    let list = |cursor: &Value| request(1, "tools/list", json!({ "cursor": cursor }));
    let first = exchange(in_pages_of(5), &[request(1, "tools/list", json!({}))]).await.remove(0);
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 5);
    let cursor = &first["result"]["nextCursor"];
    let grow = request(2, "tools/call", json!({ "name": "grow", "arguments": {} }));
    let answers = exchange(in_pages_of(5), &[list(cursor), grow, list(cursor)]).await;
    let names = |answer: &Value| answer["result"]["tools"].as_array().unwrap()[0]["name"].clone();
    assert_eq!(names(&answers[0]), json!(KitchenSink::new().tools()[5].name()));
    assert_eq!(answers[2]["error"]["code"], -32602, "{}", answers[2]);
    assert!(answers[2]["error"]["message"].as_str().unwrap().contains("List again without a cursor"));
}

#[tokio::test]
async fn a_client_reads_all_pages() {
    let extension =
        connect(in_pages_of(2), ConnectOptions { trust_groups: true, ..ConnectOptions::default() })
            .await
            .unwrap();
    let direct = KitchenSink::new();
    assert_eq!(extension.tools(), direct.tools());
    assert_eq!(extension.list_resources().await.unwrap(), direct.list_resources().await.unwrap());
    assert_eq!(extension.list_prompts().await.unwrap(), direct.list_prompts().await.unwrap());
}
