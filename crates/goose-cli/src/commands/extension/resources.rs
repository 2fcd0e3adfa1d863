//! `goose extension resources`: lists the resources of servers, or prints one.

use std::{io, process::ExitCode};

use anyhow::{Context as _, anyhow};
use goose::{
    agents::extension_manager::{ExtensionManager, FromExtension, Partial},
    config::Settings,
};
use goose_extension::{CallContext, Resource, ResourceContents};
use serde_json::{Value, json};

use super::tools::{Problem, usable};
use crate::{
    args::JsonArgs,
    escape,
    output::{self, FAINT, INDENT, NAME, Output},
    runtime::with_extensions,
    selection::Candidate,
    stderr,
};

/// Maximum number of bytes of contents that are printed.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Lists the resources of the chosen extensions, or reads one.
pub(super) fn run(
    settings: &Settings,
    chosen: Vec<Candidate>,
    read: Option<&str>,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let (configs, mut problems) = usable(chosen);
    with_extensions(settings, configs, async |manager, stop| {
        let work = async {
            match read {
                Some(uri) => print_one(manager, uri, form).await,
                None => print_all(manager, &mut problems, form).await,
            }
        };
        stop.run_until_cancelled(work).await.unwrap_or(Ok(ExitCode::FAILURE))
    })
}

async fn print_all(
    manager: &ExtensionManager,
    problems: &mut Vec<Problem>,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let Partial { items, problems: failed, .. } = manager.list_resources(None).await?;
    problems.extend(failed.into_iter().map(|(name, error)| Problem::new(name, error)));
    let document = || {
        let resources: Vec<Value> = items.iter().map(as_json).collect();
        json!({ "resources": resources, "problems": problems })
    };
    output::print(form, document, |out| print_text(out, &items))?;
    if items.is_empty() && problems.is_empty() && !form.json {
        stderr::line(format_args!("No enabled extension has resources."));
    }
    for Problem { extension, error } in &*problems {
        stderr::error(&format!("cannot list the resources of `{extension}`: {error}"));
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Converts a resource to its MCP form, with the name of its extension.
fn as_json(found: &FromExtension<Resource>) -> Value {
    let mut json = json!(found.item);
    json["extension"] = json!(found.extension);
    json
}

/// Writes one line per resource; on a terminal the description goes below it.
fn print_text(out: &mut Output, resources: &[FromExtension<Resource>]) -> io::Result<()> {
    for FromExtension { extension, item, .. } in resources {
        let description = item.description.as_deref().unwrap_or(&item.name);
        let (extension, uri) = (escape::line(extension), escape::line(&item.uri));
        if out.is_terminal() {
            let line = format!("{} {uri}", out.paint(NAME, extension));
            out.line(line)?;
            out.indented(INDENT, FAINT, description)?;
        } else {
            out.line(format!("{extension}  {uri}  {}", escape::line(description)).trim_end())?;
        }
    }
    Ok(())
}

async fn print_one(manager: &ExtensionManager, uri: &str, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let contents = manager.read_resource(uri, None, &CallContext::new()).await;
    let contents = contents.map_err(|error| anyhow!("{error}"))?;
    let size: usize = contents.iter().map(size).sum();
    anyhow::ensure!(size <= MAX_BYTES, "`{uri}` has {size} bytes; at most {MAX_BYTES} are printed");
    output::print(
        form,
        || json!({ "contents": contents }),
        |out| {
            contents.iter().try_for_each(|content| match content {
                ResourceContents::TextResourceContents { text, .. } => out.line(text.trim_end_matches('\n')),
                ResourceContents::BlobResourceContents { uri, blob, .. } => {
                    out.line(format!("({uri}: binary, {} bytes in base64; use --json)", blob.len()))
                }
                _ => out.line("(contents of an unknown kind; use --json)"),
            })
        },
    )
    .context("the contents could not be printed")?;
    Ok(ExitCode::SUCCESS)
}

fn size(contents: &ResourceContents) -> usize {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.len(),
        ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
        _ => 0,
    }
}
