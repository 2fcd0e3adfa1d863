//! Calls that hang, come late, are too long, ask back, or end in strange results.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::raw::{Program, text_of};

#[test]
fn a_call_hangs_and_another_goes_on() -> Result<()> {
    let mut program = Program::start(&["--hang", "stuck"])?;
    program.call(5, "stuck", json!({}))?;
    ensure!(program.text("echo", json!({ "text": "still here" }))? == "still here");
    ensure!(program.is_silent(Duration::from_millis(200)));
    Ok(())
}

#[test]
fn a_call_answers_late_although_it_was_cancelled() -> Result<()> {
    let mut program = Program::start(&["--late", "echo", "0.5"])?;
    program.call(5, "echo", json!({ "text": "late" }))?;
    let cancel = json!({ "requestId": 5 });
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }))?;
    ensure!(program.text("cancelled", json!({}))? == "[5]");
    ensure!(text_of(&program.next()?)? == "late");
    Ok(())
}

#[test]
fn lines_have_the_length_that_was_asked_for() -> Result<()> {
    let (line, notice) = (30_000_000, 1_000_000);
    let arguments = ["--huge-line", &line.to_string(), "big", "--huge-notification", &notice.to_string()];
    let mut program = Program::start(&arguments)?;
    program.call(1, "big", json!({}))?;
    ensure!(program.line()?.len() == notice);
    let answer = program.line()?;
    ensure!(answer.len() == line);
    ensure!(serde_json::from_slice::<Value>(&answer)?["id"] == 1);
    #[cfg(target_os = "linux")]
    ensure!(crate::lists::peak_kib(program.pid())? < 24 * 1024, "the line was held in memory");
    Ok(())
}

#[test]
fn results_are_strange() -> Result<()> {
    let mut program = Program::start(&["--strange-results"])?;
    ensure!(program.text("nul", json!({}))?.contains('\0'));
    program.call(1, "invalid_utf8", json!({}))?;
    ensure!(String::from_utf8(program.line()?).is_err());
    program.call(1, "image20mb", json!({}))?;
    let image = program.next()?;
    ensure!(image["result"]["content"][0]["data"].as_str().is_some_and(|data| data.len() > 26_000_000));
    let expected = [
        ("empty", json!({ "content": [] })),
        ("no_content", json!({})),
        ("wrong_shape", json!("only a string")),
    ];
    for (tool, result) in expected {
        ensure!(program.ask("tools/call", json!({ "name": tool }))?["result"] == result, "{tool}");
    }
    let broken = program.ask("tools/call", json!({ "name": "bad_base64" }))?;
    ensure!(broken["result"]["content"][0]["type"] == "image", "{broken}");
    Ok(())
}

#[test]
fn a_call_asks_the_client() -> Result<()> {
    let kinds = [
        ("form", "elicitation/create"),
        ("url", "elicitation/create"),
        ("sampling", "sampling/createMessage"),
        ("roots", "roots/list"),
    ];
    for (kind, method) in kinds {
        let mut program = Program::start(&["--ask", kind, "curious"])?;
        program.call(8, "curious", json!({}))?;
        let question = program.next()?;
        ensure!(question["method"] == method, "{question}");
        program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "kind": kind } }))?;
        ensure!(text_of(&program.next()?)? == json!({ "kind": kind }).to_string());
    }
    Ok(())
}

#[test]
fn a_call_asks_in_rounds_on_the_newer_wire() -> Result<()> {
    let mut program = Program::start(&["--wire", "2026-07-28", "--ask", "form", "curious"])?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let first = program.ask("tools/call", json!({ "name": "curious", "_meta": meta }))?;
    ensure!(first["result"]["resultType"] == "input_required", "{first}");
    ensure!(first["result"]["inputRequests"]["question"]["method"] == "elicitation/create", "{first}");
    let responses = json!({ "question": { "action": "decline" } });
    let params = json!({ "name": "curious", "_meta": meta, "inputResponses": responses });
    ensure!(text_of(&program.ask("tools/call", params)?)?.contains("decline"));
    Ok(())
}

#[test]
fn a_call_reports_before_its_result() -> Result<()> {
    let mut program = Program::start(&["--progress", "echo", "3", "--log", "echo"])?;
    let params =
        json!({ "name": "echo", "arguments": { "text": "done" }, "_meta": { "progressToken": "t" } });
    program.request(1, "tools/call", params)?;
    for done in 1..=3 {
        let report = program.next()?;
        ensure!(report["params"]["progress"] == done && report["params"]["progressToken"] == "t", "{report}");
    }
    ensure!(program.next()?["method"] == "notifications/message");
    ensure!(text_of(&program.next()?)? == "done");
    Ok(())
}
