//! `goose completion`: a shell completion script.

use std::{io::Write as _, process::ExitCode};

use clap::{Args, Command};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  goose completion bash > ~/.local/share/bash-completion/completions/goose
  goose completion zsh > ~/.zfunc/_goose      ('fpath+=~/.zfunc' in ~/.zshrc)
  goose completion fish > ~/.config/fish/completions/goose.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// Shell to complete for
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionArgs, command: &mut Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "goose", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
