//! Serves a built-in extension over standard input and output:
//!
//! ```text
//! npx @modelcontextprotocol/inspector cargo run -p goose-mcp --example mcp [developer|memory|tutorial]
//! ```
//!
//! Standard output belongs to the protocol; logs go to standard error (`RUST_LOG` sets how much).

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use anyhow::Context as _;
use goose_mcp::{BUILTINS, BuiltinOptions, builtin, paths};
use goose_mcp_bridge::Serve;
use tracing_subscriber::EnvFilter;

const DEFAULT_BUILTIN: &str = "memory";

/// The environment of the developer's commands.
const VARIABLES: [&str; 7] = ["PATH", "HOME", "USER", "SHELL", "LANG", "TMPDIR", "GOOSE_SHELL"];

/// The exit code for a command line that makes no sense.
const USAGE: u8 = 2;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();

    let arguments: Vec<String> = env::args().skip(1).collect();
    let name = match arguments.as_slice() {
        [] => DEFAULT_BUILTIN,
        [help] if ["-h", "--help"].contains(&help.as_str()) => {
            return list("Serves one of these on stdio:", 0);
        }
        [name] => name,
        _ => return usage("Only one built-in can be served at a time."),
    };
    let config_dir = paths::config_dir(|name| env::var_os(name))
        .context("There is no config folder: set HOME, XDG_CONFIG_HOME or GOOSE_PATH_ROOT.")?;
    let variables = VARIABLES.iter().filter_map(|name| Some((name, env::var_os(name)?)));
    let options = BuiltinOptions::new(config_dir.clone())
        .with_working_dir(env::current_dir()?)
        .with_environment(variables)
        .with_scratch_dir(config_dir.join("outputs"));
    match builtin(name, &options) {
        Some(extension) => {
            greet_person(name)?;
            Serve::shared(extension).stdio().await?;
        }
        None => return usage(&format!("There is no built-in `{name}`.")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Started by hand, it would show nothing otherwise: it waits for a program to speak to it.
fn greet_person(name: &str) -> io::Result<()> {
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    let mut stderr = io::stderr().lock();
    writeln!(
        stderr,
        "Serving `{name}` on standard input and output, for an MCP client to start. Ctrl-D ends it."
    )?;
    writeln!(
        stderr,
        "To look at it: npx @modelcontextprotocol/inspector cargo run -p goose-mcp --example mcp {name}"
    )
}

fn usage(problem: &str) -> anyhow::Result<ExitCode> {
    list(&format!("error: {problem} Use one of these:"), USAGE)
}

fn list(heading: &str, code: u8) -> anyhow::Result<ExitCode> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "{heading}")?;
    for builtin in BUILTINS {
        writeln!(stderr, "  {:10} {}", builtin.name, builtin.summary)?;
    }
    Ok(ExitCode::from(code))
}
