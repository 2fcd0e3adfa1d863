//! Without faults, `faulty_server` is a server like others, on both wires.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::raw::{Program, text_of};

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn the_older_wire_is_served() -> Result<()> {
    let mut program = Program::start(&[])?;
    let hello = program.ask("initialize", json!({ "protocolVersion": "2025-11-25" }))?;
    ensure!(hello["result"]["protocolVersion"] == "2025-11-25", "{hello}");
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    for (method, result) in [
        ("ping", json!({})),
        ("resources/list", json!({ "resources": [] })),
        ("prompts/list", json!({ "prompts": [] })),
    ] {
        let answer = program.ask(method, json!({}))?;
        ensure!(answer["result"] == result, "{answer}");
    }
    let discover = program.ask("server/discover", json!({}))?;
    ensure!(discover["error"]["code"] == -32601, "{discover}");
    let tools = program.ask("tools/list", json!({}))?;
    ensure!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() == 6), "{tools}");
    Ok(())
}

#[test]
fn the_tools_do_what_they_say() -> Result<()> {
    let mut program = Program::start(&[])?;
    ensure!(program.text("echo", json!({ "text": "hello" }))? == "hello");
    ensure!(program.text("pid", json!({}))? == program.pid().to_string());
    ensure!(program.text("count", json!({}))? == "1");
    ensure!(program.text("count", json!({}))? == "2");
    ensure!(program.text("sleep", json!({ "seconds": 0.01 }))? == "rested");
    ensure!(program.text("env", json!({ "name": "NO_SUCH_VARIABLE" }))? == "(unset)");
    ensure!(!program.text("env", json!({ "name": "PATH" }))?.is_empty());
    program.call(7, "no_such_tool", json!({}))?;
    ensure!(program.next()?["error"]["code"] == -32602);
    Ok(())
}

#[test]
fn it_reads_while_a_call_sleeps_and_cancels_it() -> Result<()> {
    let mut program = Program::start(&[])?;
    program.call(40, "sleep", json!({ "seconds": 300 }))?;
    let cancel = json!({ "requestId": 40, "reason": "enough" });
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }))?;
    ensure!(program.text("cancelled", json!({}))? == "[40]");
    ensure!(program.is_silent(Duration::from_millis(100)), "a cancelled call was answered");
    program.close_input();
    ensure!(program.ended()?.success());
    Ok(())
}

#[test]
fn the_newer_wire_is_served() -> Result<()> {
    let mut program = Program::start(&["--wire", "2026-07-28", "--changing"])?;
    let hello = program.ask("server/discover", json!({ "_meta": meta() }))?;
    ensure!(hello["result"]["supportedVersions"] == json!(["2026-07-28"]), "{hello}");
    ensure!(hello["result"]["resultType"] == "complete", "{hello}");
    let bare = program.ask("tools/list", json!({}))?;
    ensure!(bare["error"]["code"] == -32602, "{bare}");
    let old = program.ask("initialize", json!({}))?;
    ensure!(old["error"]["code"] == -32601, "{old}");
    let list = program.ask("tools/list", json!({ "_meta": meta() }))?;
    ensure!(list["result"]["resultType"] == "complete" && list["result"]["ttlMs"] == 0, "{list}");

    program.request(
        9,
        "subscriptions/listen",
        json!({ "_meta": meta(), "notifications": { "toolsListChanged": true } }),
    )?;
    let acknowledged = program.next()?;
    ensure!(acknowledged["method"] == "notifications/subscriptions/acknowledged", "{acknowledged}");
    program.request(10, "tools/call", json!({ "_meta": meta(), "name": "grow" }))?;
    let news = program.next()?;
    ensure!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 9, "{news}");
    ensure!(text_of(&program.next()?)?.contains("grown_0"));
    Ok(())
}
