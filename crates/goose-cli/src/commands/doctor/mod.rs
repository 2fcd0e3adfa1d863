//! `goose doctor`: checks the installation and suggests fixes.
//!
//! `files` checks the configuration and folders, `known_files` the other files that goose reads, `model`, `machine` and
//! `extensions` the rest. Nothing is changed. Programs are started and servers contacted only if flags ask for it,
//! except for the shell and for a model on this machine.

mod extensions;
mod files;
mod known_files;
mod machine;
mod model;

use std::{io, process::ExitCode};

use clap::Args;
use goose::config::Paths;
use serde::Serialize;
use serde_json::json;

use self::model::Reach;
use crate::{
    args::JsonArgs,
    escape,
    output::{self, BAD, FAINT, GOOD, INDENT, NAME, Output, WARNING, counted},
    runtime::new_runtime,
    settings::{self, ConfigArgs, Here},
};

const EXAMPLES: &str = "\
Examples:
  goose doctor
  goose doctor --online            also connect to the model's provider
  goose doctor --start             also start each extension

With --json: {\"healthy\": BOOL, \"checks\": [{name, state, says, fix}]}; 'state'
is 'good', 'warning', 'bad' or 'skipped'.
Exit code 1: at least one check is bad.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Connect to the model's provider, even if it is not on this machine
    #[arg(long)]
    online: bool,
    /// Start each enabled extension
    #[arg(long)]
    start: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    form: JsonArgs,
}

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Works.
    Good,
    /// goose works, but not as well as it could.
    Warning,
    /// goose or a part of it does not work.
    Bad,
    /// Not checked.
    Skipped,
}

/// One check and its outcome.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: State,
    says: String,
    /// Suggested fix.
    fix: Option<String>,
}

impl Check {
    fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Good, says: says.into(), fix: None }
    }

    fn skipped(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { state: State::Skipped, ..Self::good(name, says) }
    }

    fn warning(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Warning, fix: Some(fix.into()), ..Self::good(name, says) }
    }

    fn bad(name: impl Into<String>, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Bad, fix: Some(fix.into()), ..Self::good(name, says) }
    }
}

/// Outcomes of all checks.
pub(crate) struct Report(Vec<Check>);

impl Report {
    /// Prints the outcomes for people.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut out = Output::new();
        print(&mut out, &self.0)?;
        out.finish()
    }
}

/// Runs the checks that contact and start nothing.
pub(crate) fn check(config: &ConfigArgs) -> anyhow::Result<Report> {
    let paths = Paths::from_env()?;
    let here = settings::look(&paths, config);
    Ok(Report(all(&paths, &here, Reach::ThisMachine)?))
}

/// Runs the checks that the flags ask for.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let here = settings::look(&paths, &args.config);
    let reach = if args.online { Reach::Everywhere } else { Reach::ThisMachine };
    let mut checks = all(&paths, &here, reach)?;
    if args.start
        && let Ok(settings) = &here.settings
    {
        checks.extend(extensions::start(settings)?);
    }
    let healthy = checks.iter().all(|check| check.state != State::Bad);
    output::print(&args.form, || json!({ "healthy": healthy, "checks": checks }), |out| print(out, &checks))?;
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all checks that start no extension.
fn all(paths: &Paths, here: &Here, reach: Reach) -> anyhow::Result<Vec<Check>> {
    let mut checks = files::check(paths, here);
    let settings = here.settings.as_ref().ok();
    new_runtime()?.block_on(async {
        if let Some(settings) = settings {
            checks.extend(model::check(settings, reach).await);
        }
        checks.extend(machine::check(paths, settings).await);
    });
    if let Some(settings) = settings {
        checks.extend(extensions::check(settings));
    }
    Ok(checks)
}

fn print(out: &mut Output, checks: &[Check]) -> io::Result<()> {
    let names: Vec<_> = checks.iter().map(|check| escape::line(&check.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    for (check, name) in checks.iter().zip(names) {
        let (style, mark) = match check.state {
            State::Good => (GOOD, "✓"),
            State::Warning => (WARNING, "!"),
            State::Bad => (BAD, "✗"),
            State::Skipped => (FAINT, "-"),
        };
        let name = out.paint(NAME, format!("{name:width$}"));
        let mark = out.paint(style, mark);
        if out.has_room(width + INDENT, &check.says) && !check.says.contains('\n') {
            out.line(format_args!("{mark} {name}  {}", escape::line(&check.says)))?;
        } else {
            out.line(format_args!("{mark} {name}"))?;
            out.indented(INDENT, anstyle::Style::new(), &check.says)?;
        }
        if let Some(fix) = &check.fix {
            out.indented(INDENT, style, &format!("→ {fix}"))?;
        }
    }
    let broken = checks.iter().filter(|check| check.state == State::Bad).count();
    out.line("")?;
    match broken {
        0 => out.line("No problems found."),
        some => out.line(format_args!("{} found.", counted(some as u64, "problem"))),
    }
}
