//! The floor: the same requests and the same commands, with nothing around them.

use anyhow::Context as _;
use serde_json::{Value, json};

/// The shell that goose uses where it exists.
const SHELL: &str = "bash";

pub(crate) fn run(base: &str) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(converse(base))
}

async fn converse(base: &str) -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let url = format!("{base}/v1/chat/completions");
    let tools = json!([{"type": "function", "function": {"name": "shell", "description": "run", "parameters": {
        "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"],
    }}}]);
    let mut messages = vec![json!({"role": "user", "content": "Say hi using the shell."})];
    loop {
        let body = json!({"model": "gpt-4o", "stream": true, "tools": tools, "messages": messages});
        let request = client.post(&url).header("content-type", "application/json").body(body.to_string());
        let answer = request.send().await?.text().await?;
        let Some((id, arguments)) = call(&answer) else { return Ok(()) };
        let parsed: Value = serde_json::from_str(&arguments)?;
        let command = parsed["command"].as_str().context("a command")?;
        let output = tokio::process::Command::new(SHELL).arg("-c").arg(command).output().await?;
        let call =
            json!({"id": id, "type": "function", "function": {"name": "shell", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }
}

/// The call in an answer: its id and its arguments.
fn call(answer: &str) -> Option<(String, String)> {
    let (mut id, mut arguments) = (None, String::new());
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    for event in events.filter_map(|data| serde_json::from_str::<Value>(data).ok()) {
        let call = &event["choices"][0]["delta"]["tool_calls"][0];
        if let Some(known) = call["id"].as_str() {
            id = Some(known.to_owned());
        }
        arguments.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
    }
    Some((id?, arguments))
}
