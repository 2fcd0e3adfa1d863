//! Untrusted tool lists: what cannot be used is dropped and named, the rest works.

use goose_extension::{Extension, ToolGroup, prelude::*};
use goose_mcp_bridge::{ConnectOptions, DroppedTool};

use crate::faulty_servers::{Server, play};

/// Returns the tools of a list that are kept, and those that are dropped.
async fn listed(options: ConnectOptions, tools: Value) -> (Vec<Tool>, Vec<DroppedTool>) {
    let script = |mut server: Server| async move {
        while let Some(request) = server.greet().await {
            server.answer(&request, json!({ "tools": tools })).await;
        }
    };
    let (extension, _playing) = play(options, script).await;
    let extension = extension.unwrap();
    (extension.tools().to_vec(), extension.dropped_tools().to_vec())
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "inputSchema": schema })
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(Tool::name).collect()
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(
        json!({ "type": "object" }),
        |inner, _| json!({ "type": "object", "properties": { "p": inner } }),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_tool_is_dropped_and_named_and_the_rest_works() {
    let object = || json!({ "type": "object" });
    let cases = [
        (tool("", object()), "no name"),
        (tool(&"n".repeat(129), object()), "129 bytes"),
        (tool("has space", object()), "its name contains"),
        (tool("tab\tbed", object()), "its name contains"),
        (tool("nul\0", object()), "its name contains"),
        (tool("wide\u{2003}space", object()), "its name contains"),
        (tool("good", object()), "same name"),
        (tool("list", json!({ "type": "array" })), "not that of an object"),
        (tool("nonsense", json!({ "type": "objekt" })), "not that of an object"),
        (tool("keyword", json!({ "properties": { "a": { "type": "strnig" } } })), "not valid"),
        (tool("number", json!({ "properties": 7 })), "not valid"),
        (tool("pattern", json!({ "properties": { "a": { "pattern": "(" } } })), "not valid"),
        (tool("dangling", json!({ "properties": { "a": { "$ref": "#/$defs/nothing" } } })), "not valid"),
        (tool("deep", nested(40)), "deeper than 64"),
        (tool("large", json!({ "description": "d".repeat(256 << 10) })), "at most 262144"),
    ];
    for (bad, reason) in cases {
        let shown = bad.to_string();
        let list = json!([tool("good", object()), bad, tool("fine", nested(10))]);
        let (tools, dropped) = listed(ConnectOptions::default(), list).await;
        assert_eq!(names(&tools), ["good", "fine"], "{shown:.200}");
        assert!(
            matches!(dropped.as_slice(), [one] if one.reason.contains(reason) && one.name.len() < 400),
            "{shown:.200}: {dropped:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_cannot_even_be_read_is_dropped_alone() {
    for bad in [
        json!({ "name": "broken", "inputSchema": "text" }),
        json!({ "name": "broken", "inputSchema": null }),
        json!({ "name": "broken" }),
        json!({ "name": 7, "inputSchema": { "type": "object" } }),
        json!("broken"),
        json!(null),
    ] {
        let list = json!([tool("one", json!({ "type": "object" })), bad, tool("two", json!({}))]);
        let (tools, dropped) = listed(ConnectOptions::default(), list).await;
        assert_eq!(names(&tools), ["one", "two"], "{bad}");
        assert!(matches!(dropped.as_slice(), [one] if one.reason.contains("cannot be read")), "{dropped:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_but_usable_tools_stay() {
    let list = json!([
        tool("no-type", json!({ "properties": { "a": {} } })),
        tool("either", json!({ "type": ["object", "null"] })),
        tool("elsewhere", json!({ "properties": { "a": { "$ref": "http://127.0.0.1:9/schema" } } })),
        tool(
            "here",
            json!({ "$defs": { "a": { "type": "string" } }, "properties": { "a": { "$ref": "#/$defs/a" } } })
        ),
        tool(
            "tuple",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                "properties": { "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }] } },
            })
        ),
        tool("größe.äöü/1", json!({ "type": "object" })),
        tool(&"n".repeat(128), json!({ "type": "object" })),
    ]);
    let (tools, dropped) = listed(ConnectOptions::default(), list).await;
    assert_eq!((tools.len(), dropped), (7, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_very_many_bad_tools_the_number_is_told() {
    let list: Vec<Value> =
        (0..250).map(|index| tool(&format!("bad {index}"), json!({ "type": "object" }))).collect();
    let (tools, dropped) = listed(ConnectOptions::default(), Value::Array(list)).await;
    assert!(tools.is_empty());
    assert_eq!(dropped.len(), 101);
    assert!(dropped[100].reason.contains("150 more"), "{:?}", dropped[100]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_dropped_tools_can_be_printed() {
    let name = format!("\u{1b}[31m\n{}", "x".repeat(1000));
    let (_, dropped) = listed(ConnectOptions::default(), json!([tool(&name, json!({}))])).await;
    assert!(dropped[0].name.chars().count() <= 80);
    assert!(!dropped[0].name.chars().any(char::is_control), "{:?}", dropped[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_descriptions_and_instructions_are_cut() {
    let list =
        json!([{ "name": "long", "description": format!("a\0{}", "ü".repeat(60_000)), "inputSchema": {} }]);
    let (tools, _) = listed(ConnectOptions::default(), list).await;
    let description = tools[0].description();
    assert!(description.len() <= 64 << 10 && description.starts_with("aü") && description.contains("cut"));
    let script = |mut server: Server| async move {
        let request = server.next().await.unwrap();
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "instructions": "i".repeat(100_000),
            "serverInfo": { "name": "long", "version": "1" },
        });
        server.answer(&request, hello).await;
        while server.next().await.is_some() {}
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    assert_eq!(extension.unwrap().instructions().len(), 64 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_server_cannot_put_its_tools_into_groups() {
    let list = json!([{ "name": "rm", "inputSchema": {}, "_meta": { "goose/groups": ["read"] } }]);
    let (tools, _) = listed(ConnectOptions::default(), list.clone()).await;
    assert_eq!((tools[0].groups(), tools[0].meta()), ([].as_slice(), None));
    let (tools, _) = listed(ConnectOptions { trust_groups: true, ..ConnectOptions::default() }, list).await;
    assert_eq!(tools[0].groups(), [ToolGroup::Read]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_go_in_circles_or_are_too_large_are_not_used() {
    for (kind, reason) in [("circle", "same cursor"), ("bytes", "16 MiB"), ("cursor", "a cursor of")] {
        let script = move |mut server: Server| async move {
            let mut page = 0;
            while let Some(request) = server.greet().await {
                page += 1;
                let (next, size) = match kind {
                    "circle" => (["a", "b", "c"][page % 3].to_owned(), 1),
                    "bytes" => (page.to_string(), 3 << 20),
                    _ => ("c".repeat(100_000), 1),
                };
                let tool =
                    json!({ "name": format!("t{page}"), "description": "d".repeat(size), "inputSchema": {} });
                server.answer(&request, json!({ "tools": [tool], "nextCursor": next })).await;
            }
        };
        let (extension, _playing) = play(ConnectOptions::default(), script).await;
        let text = extension.unwrap_err().to_string();
        assert!(text.contains("does not end") && text.contains(reason), "{kind}: {text}");
    }
}

/// A changed list is read under the same rules, and a server that does not answer does not stop the news.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_list_is_validated_and_bounded_too() {
    let script = |mut server: Server| async move {
        let mut asked = 0;
        while let Some(request) = server.next().await {
            match request["method"].as_str() {
                Some("initialize") => {
                    let hello = json!({
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": { "listChanged": true } },
                        "serverInfo": { "name": "odd", "version": "1" },
                    });
                    server.answer(&request, hello).await;
                }
                Some("tools/list") => {
                    asked += 1;
                    let changed =
                        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }).to_string();
                    match asked {
                        1 => server.answer(&request, json!({ "tools": [] })).await,
                        2 => {}
                        _ => {
                            let list = json!([tool("bad name", json!({})), tool("good", json!({}))]);
                            server.answer(&request, json!({ "tools": list })).await;
                        }
                    }
                    if asked < 3 {
                        server.send(&changed).await;
                    }
                }
                _ => {}
            }
        }
    };
    let options =
        ConnectOptions { handshake_timeout: std::time::Duration::from_secs(2), ..ConnectOptions::default() };
    let (extension, _playing) = play(options, script).await;
    let extension = extension.unwrap();
    let mut changes = extension.changes().unwrap().subscribe();
    let renewed = async {
        loop {
            if let Some(renewed) = extension.changes().and_then(|feed| feed.latest())
                && names(renewed.tools()) == ["good"]
            {
                return;
            }
            let _ = changes.recv().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), renewed).await.expect("the list stays old");
}
