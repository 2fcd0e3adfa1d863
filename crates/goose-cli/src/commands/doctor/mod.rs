//! `goose doctor`: looks at each part that goose needs, and says how to mend what is broken.
//!
//! - `check`: what one look came to; `config`, `folders`, `machine`, `model`, `extensions`: the looks themselves.
//!
//! Nothing is changed. Programs are started and servers asked only where the flags say so, except for the shell and
//! for a model on this machine.

mod check;
mod config;
mod extensions;
mod folders;
mod machine;
mod model;

use std::{io, process::ExitCode};

use clap::Args;
use goose::config::Paths;
use serde::Serialize;

use self::check::{Check, State};
use crate::{
    args::JsonArgs,
    output::{BAD, FAINT, GOOD, NAME, Output, WARNING},
    settings::{self, ConfigArgs, Here},
    supervise::runtime,
};

const EXAMPLES: &str = "\
Examples:
  goose doctor
  goose doctor --online            also whether the model's service is reached
  goose doctor --start             also whether each extension starts

With --json: {\"healthy\": BOOL, \"checks\": [{name, state, says, mend}]}; 'state'
is 'good', 'warning', 'bad' or 'skipped'.
The exit code is 1 where something is broken.";

/// How far right details are.
const INDENT: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// See whether the model's service can be reached, wherever it is
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

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    healthy: bool,
    checks: Vec<Check>,
}

/// Looks at everything.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let here = settings::look(&paths, &args.config);
    let checks = all(&paths, &here, args)?;
    let healthy = checks.iter().all(|check| check.state != State::Bad);
    let mut out = Output::new();
    if args.form.json {
        out.json(&Document { healthy, checks })?;
    } else {
        print(&mut out, &checks)?;
    }
    out.finish()?;
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn all(paths: &Paths, here: &Here, args: &DoctorArgs) -> anyhow::Result<Vec<Check>> {
    let mut checks = folders::look(paths);
    checks.extend(config::look(paths, here));
    let settings = here.settings.as_ref().ok();
    runtime()?.block_on(async {
        if let Some(settings) = settings {
            let reach = if args.online { model::Reach::Everywhere } else { model::Reach::ThisMachine };
            checks.extend(model::look(settings, reach).await);
        }
        checks.extend(machine::look(paths, settings).await);
    });
    if let Some(settings) = settings {
        checks.extend(extensions::look(settings));
        if args.start {
            checks.extend(extensions::start(settings)?);
        }
    }
    Ok(checks)
}

fn print(out: &mut Output, checks: &[Check]) -> io::Result<()> {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or_default();
    for check in checks {
        let (style, mark) = match check.state {
            State::Good => (GOOD, "✓"),
            State::Warning => (WARNING, "!"),
            State::Bad => (BAD, "✗"),
            State::Skipped => (FAINT, "-"),
        };
        let name = out.paint(NAME, format!("{:width$}", check.name));
        let mark = out.paint(style, mark);
        if out.has_room(width + INDENT, &check.says) && !check.says.contains('\n') {
            out.line(format_args!("{mark} {name}  {}", crate::visible::line(&check.says)))?;
        } else {
            out.line(format_args!("{mark} {name}"))?;
            out.indented(INDENT, anstyle::Style::new(), &check.says)?;
        }
        if let Some(mend) = &check.mend {
            out.indented(INDENT, style, &format!("→ {mend}"))?;
        }
    }
    let broken = checks.iter().filter(|check| check.state == State::Bad).count();
    out.line("")?;
    match broken {
        0 => out.line("Nothing is broken."),
        1 => out.line("1 thing is broken."),
        more => out.line(format_args!("{more} things are broken.")),
    }
}
