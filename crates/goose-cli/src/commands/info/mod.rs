//! `goose info`: what this goose is, and what it is configured with. Nothing is started, and nobody is asked; only
//! where no model is chosen, it is looked for servers on this machine, to say which one goose would use.

mod report;

use std::{fs, io, process::ExitCode};

use clap::Args;
use goose::config::{Paths, Trust};

pub(crate) use self::report::size;
use self::report::{Report, Row};
use crate::{
    args::JsonArgs,
    choice,
    output::{BAD, FAINT, NAME, Output, WARNING},
    settings::{self, ConfigArgs},
    supervise::runtime,
    visible,
};

const EXAMPLES: &str = "\
Examples:
  goose info
  goose info -v           every key that is set, and where
  goose info --json

With --json: {version, model, choice, folders: {config, data, state, cache}, files,
settings: [{key, value, from}], extensions: [{key, type, enabled, error}],
sessions: {path, bytes}, problems}; 'choice' is why goose would use that model,
where nobody has chosen one.";

/// The widest column of names.
const COLUMN: usize = 12;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// Show every key that is set, and where it comes from
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    form: JsonArgs,
}

/// Shows it.
pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let here = settings::look(&paths, &args.config);
    let choice = match &here.settings {
        Ok(settings) => runtime()?.block_on(choice::where_none_is_chosen(settings)),
        Err(_) => None,
    };
    let report = Report::new(&paths, &here, &args.config, choice.as_ref());
    let mut out = Output::new();
    if args.form.json {
        out.json(&report)?;
    } else {
        print(&mut out, &report, args)?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut Output, report: &Report, args: &InfoArgs) -> io::Result<()> {
    row(out, "version", &report.version)?;
    let model = report.model.as_deref().unwrap_or("none; run `goose configure`");
    match &report.choice {
        Some(reason) => row(out, "model", &format!("{model} ({reason})"))?,
        None => row(out, "model", model)?,
    }
    for row in report.settings.iter().filter(|row| args.verbose || Row::is_about_model(row)) {
        let line = format!("{:COLUMN$}  {} = {}", "", row.key, visible::line(&row.value));
        out.line(format_args!("{line}  {}", out.paint(FAINT, format!("({})", visible::line(&row.from)))))?;
    }
    for (name, folder) in report.folders.named() {
        row(out, name, &folder.display().to_string())?;
    }
    for file in &report.files {
        let state = match (file.exists, file.trust) {
            (false, _) => " (not there)",
            (true, Some(Trust::Unknown)) => " (not trusted, and so not used; `goose configure trust`)",
            (true, Some(Trust::Changed)) => " (changed since it was trusted, and so not used)",
            (true, _) => "",
        };
        row(out, file.what, &format!("{}{state}", file.path.display()))?;
    }
    let names: Vec<String> = report.extensions.iter().map(report::Extension::shown).collect();
    row(
        out,
        "extensions",
        if names.is_empty() { "none configured".to_owned() } else { names.join(", ") }.as_str(),
    )?;
    let sessions = &report.sessions;
    let size = sessions.bytes.map_or("not there yet".to_owned(), size);
    row(out, "sessions", &format!("{} ({size})", sessions.path.display()))?;
    for problem in &report.problems {
        out.line(format_args!("{} {}", out.paint(BAD, "problem:"), visible::text(problem)))?;
    }
    if !report.problems.is_empty() {
        out.line(out.paint(WARNING, "`goose doctor` says how to mend it."))?;
    }
    Ok(())
}

fn row(out: &mut Output, name: &str, value: &str) -> io::Result<()> {
    let name = out.paint(NAME, format!("{name:COLUMN$}"));
    out.line(format_args!("{name}  {}", visible::line(value)))
}

/// How large a file is.
pub(crate) fn bytes(path: &std::path::Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len())
}
