//! `goose extension list`: the configured extensions, without starting them.

use std::{fmt::Write as _, io, path::Path, process::ExitCode};

use anstyle::Style;
use goose::{
    builtins,
    config::{ExtensionConfig, ExtensionKind},
};
use serde::Serialize;

use crate::{
    args::JsonArgs,
    escape,
    output::{BAD, FAINT, GOOD, INDENT, NAME, Output, print},
    selection::{Candidate, Selection, Source},
};

/// Maximum width of a column.
const MAX_COLUMN: usize = 24;

/// Width of the state column and the gaps between columns.
const GAPS: usize = 9;

/// The type of extensions that come with agents.
const PLATFORM: &str = "platform";

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    config: Option<&'a Path>,
    extensions: &'a [Row<'a>],
}

#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    source: Source,
    enabled: bool,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    target: Option<String>,
    description: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn new(candidate: &'a Candidate) -> Self {
        let config = candidate.config.as_ref();
        Self {
            key: &candidate.key,
            source: candidate.source,
            enabled: candidate.enabled,
            kind: config.map(ExtensionConfig::type_name),
            target: config.and_then(target),
            description: config.map(ExtensionConfig::description).filter(|text| !text.is_empty()),
            error: candidate.error.as_deref(),
        }
    }
}

/// Shows the configured extensions and the other built-ins.
pub(super) fn run(selection: &Selection, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let rows: Vec<Row<'_>> = selection.candidates().iter().map(Row::new).collect();
    let file = selection.file().map(|file| file.as_path());
    print(
        form,
        || Document { config: file, extensions: &rows },
        |out| {
            let (builtin, configured): (Vec<_>, Vec<_>) =
                rows.iter().partition(|row| row.source == Source::Builtin);
            let (platform, services): (Vec<_>, Vec<_>) =
                builtin.into_iter().partition(|row| row.kind == Some(PLATFORM));
            let (used, unused): (Vec<_>, Vec<_>) = services.into_iter().partition(|row| row.enabled);
            let listed: Vec<_> = configured.into_iter().chain(used).collect();
            print_listed(out, &listed, file)?;
            print_others(out, "Other built-ins (use them by name or with --with-builtin):", &unused)?;
            print_others(out, "These come with the modes of agents (`goose agents list`):", &platform)
        },
    )
}

fn print_listed(out: &mut Output, rows: &[&Row<'_>], file: Option<&Path>) -> io::Result<()> {
    if rows.is_empty() {
        return match file {
            Some(file) => out.line(format_args!("No extensions are configured in {}.", file.display())),
            None => out.line("No extensions are given."),
        };
    }
    let keys = column(rows.iter().map(|row| row.key));
    let kinds = column(rows.iter().filter_map(|row| row.kind));
    for row in rows {
        let state = if row.enabled { out.paint(GOOD, "on ") } else { out.paint(FAINT, "off") };
        let key = out.paint(NAME, format!("{:keys$}", escape::line(row.key)));
        let (kind, target) =
            (row.kind.unwrap_or("?"), escape::line(row.target.as_deref().unwrap_or_default()));
        if out.has_room(keys + kinds + GAPS, &target) {
            let line = format!("{key}  {state}  {kind:kinds$}  {target}");
            out.line(line.trim_end())?;
        } else {
            out.line(format_args!("{key}  {state}  {kind}"))?;
            out.indented(INDENT, Style::new(), &target)?;
        }
        out.indented(INDENT, FAINT, row.description.unwrap_or_default())?;
        if let Some(error) = row.error {
            out.indented(INDENT, BAD, &format!("error: {error}"))?;
        }
    }
    Ok(())
}

fn print_others(out: &mut Output, heading: &str, rows: &[&Row<'_>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line(heading)?;
    let keys = column(rows.iter().map(|row| row.key));
    for row in rows {
        let key = out.paint(NAME, format!("{:keys$}", row.key));
        out.line(format_args!("{key}  {}", row.description.unwrap_or_default()))?;
    }
    Ok(())
}

/// Returns the width of a column.
fn column<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or_default().min(MAX_COLUMN)
}

/// Returns the command line or the address, without secrets.
fn target(config: &ExtensionConfig) -> Option<String> {
    match &config.kind {
        ExtensionKind::InlinePython { dependencies, .. } => {
            let mut target = "an inline Python program".to_owned();
            if !dependencies.is_empty() {
                // Writing into a string cannot fail.
                let _ = write!(target, ", with {}", dependencies.join(", "));
            }
            Some(target)
        }
        ExtensionKind::Platform => Some(feature(&config.key()).to_owned()),
        _ => config.shown_target(),
    }
}

/// Returns what became of a feature that configurations of goose 1.x switch as an extension.
fn feature(key: &str) -> &'static str {
    match (key, builtins::find(key)) {
        ("skills", _) => "built in; see `goose skills`",
        ("scheduler", _) => "built in; see `goose schedule`",
        (_, None) => "not supported",
        (_, Some(known)) if known.comes_with_commands || key == "todo" => "built in",
        // The default agent does without their tools, which every request would carry.
        (_, Some(_)) => "built in, for the modes that need it",
    }
}
