//! `goose completion`: a script that lets a shell complete goose's commands and flags.

use std::{io::Write as _, process::ExitCode};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;

const EXAMPLES: &str = "\
Examples:
  goose completion bash > ~/.local/share/bash-completion/completions/goose
  goose completion zsh > ~/.zfunc/_goose      ('fpath+=~/.zfunc' in ~/.zshrc)
  goose completion fish > ~/.config/fish/completions/goose.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "goose", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
