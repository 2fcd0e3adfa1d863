//! Connects to any MCP server, says what it is, and calls a tool where one is named:
//!
//! ```text
//! cargo run -p goose-extension --example call -- [--tool NAME [--args JSON]] (--http URL | COMMAND ARGUMENT…)
//! ```
//!
//! Everything goes to standard output as one JSON object; `scripts/interop` compares it with what must be there.

use std::{
    env,
    io::{self, Write as _},
    time::Duration,
};

use anyhow::{Context as _, bail};
use goose_extension::{
    CallContext, Extension as _, JsonObject, ToolOutput,
    mcp::{ConnectOptions, Target, connect},
};
use serde_json::{Value, json};
use tokio::process::Command;

/// How long a call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

const USAGE: &str = "usage: call [--tool NAME [--args JSON]] (--http URL | COMMAND ARGUMENT…)";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if env::args().nth(1).is_some_and(|first| first == "--help" || first == "-h") {
        writeln!(io::stdout(), "{USAGE}")?;
        return Ok(());
    }
    let Request { target, tool, arguments } = Request::parse(env::args().skip(1))?;
    let options = ConnectOptions::default().with_call_timeout(CALL_TIMEOUT);
    let server = connect(target, options).await?;
    let mut tools: Vec<&str> = server.tools().iter().map(|tool| tool.name()).collect();
    tools.sort_unstable();
    let mut report =
        json!({ "server": server.name(), "protocol": server.protocol_version(), "tools": tools });
    if let Some(tool) = tool {
        report["result"] = shown(&server.call(&tool, arguments, &CallContext::new()).await?);
    }
    writeln!(io::stdout(), "{report}")?;
    Ok(())
}

fn shown(output: &ToolOutput) -> Value {
    json!({ "is_error": output.is_error, "text": output.as_text(), "structured": output.structured })
}

/// What the command line asks for.
struct Request {
    target: Target,
    tool: Option<String>,
    arguments: JsonObject,
}

impl Request {
    fn parse(mut words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut tool = None;
        let mut arguments = JsonObject::new();
        let target = loop {
            let word = words.next().context(USAGE)?;
            match word.as_str() {
                "--tool" => tool = Some(words.next().context(USAGE)?),
                "--args" => {
                    let json = words.next().context(USAGE)?;
                    arguments = serde_json::from_str(&json).context("`--args` takes a JSON object")?;
                }
                "--http" => break Target::from(words.next().context(USAGE)?),
                option if option.starts_with('-') => bail!("There is no option {option}. {USAGE}"),
                program => {
                    let mut command = Command::new(program);
                    command.args(words.by_ref());
                    break Target::from(command);
                }
            }
        };
        if let Some(extra) = words.next() {
            bail!("{extra} is one word too many. {USAGE}");
        }
        Ok(Self { target, tool, arguments })
    }
}
