//! `goose permissions explain` and `test`: the verdict about a command or a URL.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use goose::permission::{ExplainedSegment, Explanation, Mode, ModeVerdict};
use goose_extension::Tool;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Place, style};
use crate::{
    args::JsonArgs,
    builtins, escape,
    output::{FAINT, GOOD, NAME, Output, WARNING, print},
};

/// The tool that runs commands, by its name in a session.
const SHELL: &str = "developer__shell";

/// The tool that fetches, by its name in a session.
const FETCH: &str = "computercontroller__web_scrape";

/// The largest command on standard input.
const MAX_COMMAND_BYTES: u64 = 1024 * 1024;

/// The modes that every explanation shows. `chat` has no tools, so there is nothing to explain.
const SHOWN: [Mode; 3] = [Mode::Auto, Mode::SmartApprove, Mode::Approve];

/// Width of the column of modes.
const MODES: usize = 13;

/// Width of the column of verdicts.
const EFFECTS: usize = 5;

/// The indentation of everything below a verdict.
const INDENT: usize = MODES + EFFECTS + 4;

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    verdicts: Map<String, Value>,
    segments: &'a [ExplainedSegment],
    reason: String,
    mode: &'static str,
    reasons: BTreeMap<&'static str, &'a [String]>,
    files: Vec<FileRow<'a>>,
    not_understood: &'a [String],
}

#[derive(Serialize)]
struct FileRow<'a> {
    path: &'a str,
    access: &'static str,
}

/// Prints the verdict in each mode.
pub(super) fn test(
    place: &Place,
    command: &str,
    mode: Option<Mode>,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    let explanation = explanation(place, command)?;
    print(
        form,
        || document(place, mode, &explanation),
        |out| {
            verdicts(&explanation, mode).try_for_each(|verdict| {
                let effect = out.paint(style(verdict.effect), verdict.effect.as_str());
                out.line(format_args!("{:MODES$}  {effect}", verdict.mode.as_str()))
            })
        },
    )
}

/// Returns the explanation of a command, or of a URL.
fn explanation(place: &Place, command: &str) -> anyhow::Result<Explanation> {
    let text = text(command)?;
    let is_url = ["http://", "https://"].iter().any(|start| text.starts_with(start)) && !text.contains(' ');
    let tool = find_tool(if is_url { FETCH } else { SHELL })?;
    Ok(place.permissions.explain(&tool, text.trim_end(), &place.folder))
}

fn find_tool(name: &str) -> anyhow::Result<Tool> {
    let tool = builtins::tools().into_iter().find(|tool| tool.name() == name);
    tool.with_context(|| format!("this build of goose has no tool `{name}`"))
}

/// Prints the verdicts, the parts of the command and the reasons.
pub(super) fn explain(place: &Place, command: &str, mode: Option<Mode>) -> anyhow::Result<ExitCode> {
    let explanation = explanation(place, command)?;
    let mut out = Output::new();
    for verdict in verdicts(&explanation, mode) {
        print_verdict(&mut out, verdict)?;
    }
    if !explanation.segments.is_empty() {
        heading(&mut out, "Commands")?;
        print_segments(&mut out, &explanation.segments)?;
    }
    if !explanation.files.is_empty() {
        heading(&mut out, "Files")?;
        for file in &explanation.files {
            let access = if file.is_written { "writes" } else { "reads " };
            out.line(format_args!("  {access}  {}", escape::line(&file.path)))?;
        }
    }
    if !explanation.not_understood.is_empty() {
        heading(&mut out, "Not understood")?;
        for doubt in &explanation.not_understood {
            out.indented(2, WARNING, doubt)?;
        }
    }
    if mode.is_none() {
        let from = place.mode_from.as_deref().unwrap_or("the default");
        out.line("")?;
        let line = format!("The mode here is {} ({}).", place.mode(), escape::line(from));
        out.line(out.paint(FAINT, line))?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command, from standard input if it is `-`.
fn text(command: &str) -> anyhow::Result<String> {
    if command != "-" {
        return Ok(command.to_owned());
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_COMMAND_BYTES + 1)
        .read_to_string(&mut text)
        .context("the command on standard input cannot be read")?;
    ensure!(text.len() as u64 <= MAX_COMMAND_BYTES, "The command is longer than {MAX_COMMAND_BYTES} bytes.");
    Ok(text)
}

/// Returns the verdicts to show: all, or that of the mode that was asked for.
fn verdicts(explanation: &Explanation, mode: Option<Mode>) -> impl Iterator<Item = &ModeVerdict> {
    let is_shown = move |verdict: &&ModeVerdict| match mode {
        Some(mode) => verdict.mode == mode,
        None => SHOWN.contains(&verdict.mode),
    };
    explanation.verdicts.iter().filter(is_shown)
}

fn document<'a>(place: &Place, mode: Option<Mode>, explanation: &'a Explanation) -> Document<'a> {
    let is_shown = |verdict: &&ModeVerdict| SHOWN.contains(&verdict.mode) || mode == Some(verdict.mode);
    let shown: Vec<&ModeVerdict> = explanation.verdicts.iter().filter(is_shown).collect();
    let verdict = |it: &&ModeVerdict| (it.mode.to_string(), Value::from(it.effect.as_str()));
    let reasons = explanation.verdict(place.mode()).map(|it| it.reasons.join("; ")).unwrap_or_default();
    Document {
        verdicts: shown.iter().map(verdict).collect(),
        segments: &explanation.segments,
        reason: reasons,
        mode: place.mode().as_str(),
        reasons: shown.iter().map(|it| (it.mode.as_str(), it.reasons.as_slice())).collect(),
        files: explanation
            .files
            .iter()
            .map(|it| FileRow { path: &it.path, access: if it.is_written { "write" } else { "read" } })
            .collect(),
        not_understood: &explanation.not_understood,
    }
}

fn heading(out: &mut Output, title: &str) -> io::Result<()> {
    out.line("")?;
    out.line(out.paint(NAME, title))
}

/// Prints a verdict with its reasons, the first beside it.
fn print_verdict(out: &mut Output, verdict: &ModeVerdict) -> io::Result<()> {
    let mode = out.paint(NAME, format!("{:MODES$}", verdict.mode.as_str()));
    let effect = out.paint(style(verdict.effect), format!("{:EFFECTS$}", verdict.effect.as_str()));
    let mut reasons = verdict.reasons.iter().map(|reason| escape::line(reason).into_owned());
    let first = reasons.next().unwrap_or_default();
    if out.has_room(INDENT, &first) {
        out.line(format_args!("{mode}  {effect}  {first}"))?;
    } else {
        out.line(format_args!("{mode}  {effect}"))?;
        out.indented(INDENT, anstyle::Style::new(), &first)?;
    }
    for reason in reasons {
        out.indented(INDENT, anstyle::Style::new(), &reason)?;
    }
    for rule in &verdict.always {
        out.indented(INDENT, FAINT, &format!("`always` would store: {rule}"))?;
    }
    Ok(())
}

/// Prints each command, and below it what is known of it.
fn print_segments(out: &mut Output, segments: &[ExplainedSegment]) -> io::Result<()> {
    for segment in segments {
        let variables: String = segment.variables.iter().map(|name| format!("{name}=… ")).collect();
        out.indented(2, anstyle::Style::new(), &escape::line(&format!("{variables}{}", segment.command)))?;
        for inner in &segment.runs {
            out.indented(4, FAINT, &escape::line(&format!("runs {inner}")))?;
        }
        if segment.reads_only {
            out.indented(4, GOOD, "only reads")?;
        }
        for rule in &segment.rules {
            out.indented(4, style(rule.effect()), &escape::line(&format!("rule {rule}")))?;
        }
    }
    Ok(())
}
