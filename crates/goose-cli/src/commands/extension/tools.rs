//! `goose extension tools`: lists tools under the names that a model sees.

use std::{io, process::ExitCode};

use goose::{
    agents::extension_manager::ExtensionManager,
    config::{ExtensionConfig, Settings},
    services::Phase,
};
use goose_extension::Tool;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    args::JsonArgs,
    escape,
    output::{self, FAINT, INDENT, NAME, Output},
    runtime::with_extensions,
    selection::Candidate,
    stderr,
};

/// The reason why the tools of an extension are missing.
#[derive(Serialize)]
pub(super) struct Problem {
    pub(super) extension: String,
    pub(super) error: String,
}

impl Problem {
    pub(super) fn new(extension: String, error: impl ToString) -> Self {
        Self { extension, error: error.to_string() }
    }
}

/// Separates the extensions that can be started from those that cannot.
pub(super) fn usable(chosen: Vec<Candidate>) -> (Vec<ExtensionConfig>, Vec<Problem>) {
    let (mut configs, mut problems) = (Vec::new(), Vec::new());
    for candidate in chosen {
        match candidate.usable() {
            Ok(config) => configs.push(config),
            Err(error) => problems.push(Problem::new(candidate.key, error)),
        }
    }
    (configs, problems)
}

/// Lists the tools of the chosen extensions.
pub(super) fn run(
    settings: &Settings,
    chosen: Vec<Candidate>,
    fresh: bool,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let (configs, mut problems) = usable(chosen);
    with_extensions(settings, configs, async |manager, stop| {
        let Some(tools) = stop.run_until_cancelled(list(manager, fresh)).await else {
            return Ok(ExitCode::FAILURE);
        };
        problems.extend(failures(manager));
        print(manager, &tools?, &problems, form)?;
        Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

async fn list(manager: &ExtensionManager, fresh: bool) -> anyhow::Result<Vec<Tool>> {
    if stderr::is_seen() {
        stderr::status(&format!("Listing tools of {} …", manager.names().join(", ")));
    }
    if fresh {
        start_all(manager).await;
    }
    let tools = manager.list_tools().await?;
    stderr::end_status();
    Ok(tools.to_vec())
}

async fn start_all(manager: &ExtensionManager) {
    let mut starting = JoinSet::new();
    for service in manager.names().iter().filter_map(|name| manager.service(name).ok()) {
        // A failure is visible in its phase.
        starting.spawn(async move { drop(service.ready().await) });
    }
    starting.join_all().await;
}

/// Returns the extensions that did not start.
fn failures(manager: &ExtensionManager) -> impl Iterator<Item = Problem> {
    let failed = |phase| matches!(phase, Phase::Degraded | Phase::Dead);
    let status = manager.status().into_iter().filter(move |status| failed(status.service.phase));
    status.map(|status| Problem {
        extension: status.name,
        error: status.service.reason.unwrap_or_else(|| "It did not start.".to_owned()),
    })
}

fn print(
    manager: &ExtensionManager,
    tools: &[Tool],
    problems: &[Problem],
    form: &JsonArgs,
) -> anyhow::Result<()> {
    let document = || {
        let tools: Vec<Value> = tools.iter().map(|tool| as_json(manager, tool)).collect();
        json!({ "tools": tools, "problems": problems })
    };
    output::print(form, document, |out| print_text(out, tools))?;
    for Problem { extension, error } in problems {
        stderr::error(&format!("cannot list the tools of `{extension}`: {error}"));
    }
    Ok(())
}

/// Converts a tool to its MCP form, with the name of its extension.
fn as_json(manager: &ExtensionManager, tool: &Tool) -> Value {
    let mut json = json!(tool);
    if let Ok(owned) = manager.locate(tool.name()) {
        json["extension"] = json!(owned.extension);
    }
    json
}

/// Writes one line per tool; on a terminal the description goes below the name.
fn print_text(out: &mut Output, tools: &[Tool]) -> io::Result<()> {
    let width = tools.iter().map(|tool| tool.name().len()).max().unwrap_or_default();
    for tool in tools {
        let summary = tool.summary();
        if out.is_terminal() {
            let name = out.paint(NAME, tool.name());
            out.line(name)?;
            out.indented(INDENT, FAINT, &summary)?;
        } else {
            let line = format!("{:width$}  {}", tool.name(), escape::line(&summary));
            out.line(line.trim_end())?;
        }
    }
    Ok(())
}
