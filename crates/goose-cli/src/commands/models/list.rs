//! `goose models list`.

use std::process::ExitCode;

use goose::config::Settings;
use goose_local::model_store::{Item, ModelStore, State};
use serde_json::{Value, json};

use super::{args::ListArgs, explained};
use crate::{
    args::{JsonArgs, ListFormat},
    choice, escape,
    output::{self, FAINT, GOOD, NAME, Output, WARNING, byte_size},
};

pub(super) async fn run(
    store: &ModelStore,
    settings: &Settings,
    args: &ListArgs,
) -> anyhow::Result<ExitCode> {
    let items = store.list().map_err(explained)?;
    let used = used(settings).await;
    let is_used = |item: &Item| {
        used.as_ref().is_some_and(|used| *used == item.name || *used == item.path.display().to_string())
    };
    let form = JsonArgs { json: args.form.json || args.format == ListFormat::Json };
    let row = |item: &Item| document(item, is_used(item));
    let document =
        || json!({ "folder": store.folder(), "models": items.iter().map(row).collect::<Vec<_>>() });
    output::print(&form, document, |out| {
        for item in &items {
            print(out, item, is_used(item))?;
        }
        match used.as_ref().filter(|_| !items.iter().any(is_used)) {
            Some(used) => out.line(format_args!("In use: {}", escape::line(used))),
            None => Ok(()),
        }
    })
}

/// Returns the local model that goose uses: the configured one, or the one that it would choose.
async fn used(settings: &Settings) -> Option<String> {
    let model = match settings.profile(None).ok()?.processor {
        Some(model) => model,
        None => choice::choose(settings).await?.model,
    };
    settings.registry().is_embedded(&model).then(|| model.model().to_owned())
}

fn print(out: &mut Output, item: &Item, is_used: bool) -> std::io::Result<()> {
    let mark = if is_used { out.paint(GOOD, "  in use").to_string() } else { String::new() };
    let title = item.entry.as_ref().map_or("your own file", |entry| entry.title.as_str());
    out.line(format_args!("{}  {}{mark}", out.paint(NAME, &item.name), escape::line(title)))?;
    let (style, state) = match item.state {
        State::Here { bytes } => (GOOD, format!("downloaded ({})", byte_size(bytes))),
        State::Part { bytes } => {
            (WARNING, format!("{} downloaded; `goose models pull` resumes", byte_size(bytes)))
        }
        State::Damaged { bytes } => (
            WARNING,
            format!("damaged ({}); `goose models pull {}` downloads it again", byte_size(bytes), item.name),
        ),
        State::Absent => (FAINT, "not downloaded; run `goose models pull`".to_owned()),
    };
    let about = item.entry.as_ref().map(|entry| {
        format!("{}, {}, {} tokens of context  ", byte_size(entry.bytes), entry.licence, entry.context)
    });
    let about = out.paint(FAINT, about.unwrap_or_default());
    out.line(format_args!("    {about}{}", out.paint(style, state)))
}

fn document(item: &Item, is_used: bool) -> Value {
    let (state, here) = match item.state {
        State::Here { bytes } => ("here", bytes),
        State::Part { bytes } => ("part", bytes),
        State::Damaged { bytes } => ("damaged", bytes),
        State::Absent => ("absent", 0),
    };
    let entry = item.entry.as_ref();
    json!({
        "name": item.name,
        "title": entry.map(|entry| &entry.title),
        "file": item.path,
        "state": state,
        "bytes_here": here,
        "bytes": entry.map(|entry| entry.bytes),
        "sha256": entry.map(|entry| &entry.sha256),
        "licence": entry.map(|entry| &entry.licence),
        "context": entry.map(|entry| entry.context),
        "sources": entry.map(|entry| entry.sources.iter().map(ToString::to_string).collect::<Vec<_>>()),
        "in_use": is_used,
    })
}
