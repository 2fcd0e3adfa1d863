//! `goose extension call`: one call of one tool.

use std::{env, process::ExitCode, sync::Arc};

use anyhow::{anyhow, bail};
use goose::{
    agents::extension_manager::ExtensionManager,
    config::{ExtensionConfig, Settings},
};
use goose_extension::{CallContext, JsonObject, ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::content;
use crate::{args::JsonArgs, aside, output::Output, person::Person, supervise::supervise};

/// What is called.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
    /// Whether progress and logs are shown wherever standard error goes.
    pub(super) verbose: bool,
}

/// Calls the tool and shows its result.
pub(super) fn run(
    settings: &Settings,
    config: ExtensionConfig,
    call: Call,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    supervise(settings, vec![config], async |manager, stop| {
        let output = carry_out(manager, stop, call).await.map_err(readable)?;
        aside::end_status();
        print(&output, form)
    })
}

async fn carry_out(
    manager: &ExtensionManager,
    stop: &CancellationToken,
    call: Call,
) -> Result<ToolOutput, ToolError> {
    let person = Arc::new(Person::new(call.verbose));
    let context = CallContext::new()
        .with_cancellation(stop.clone())
        .with_caller(Arc::clone(&person) as _)
        .with_notifier(person.as_notifier());
    let context = match env::current_dir() {
        Ok(folder) => context.with_working_dir(folder),
        Err(_) => context,
    };
    manager.call_tool_with(&call.tool, call.arguments, &context).await
}

/// An error of the protocol without its form on the wire.
fn readable(error: ToolError) -> anyhow::Error {
    match error {
        ToolError::Protocol(data) => anyhow!("{} (MCP error {})", data.message.trim_end(), data.code.0),
        other => other.into(),
    }
}

fn print(output: &ToolOutput, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    if let (Some(ToolError::Disconnected(reason)), false) = (output.failure(), form.json) {
        bail!(reason);
    }
    let mut out = Output::new();
    if form.json {
        out.json(&content::as_json(output))?;
    } else {
        content::print(&mut out, output)?;
    }
    out.finish()?;
    Ok(if output.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
