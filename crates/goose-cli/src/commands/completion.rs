//! `goose completion`: a shell completion script.

use std::{env, io::Write as _, process::ExitCode};

use clap::{Args, Command, ValueEnum, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};
use clap_complete_nushell::Nushell;
use goose::{agents::catalog::AgentCatalog, config::Paths};
use goose_providers::{CustomProviders, Registry};

use super::configure::MODES;

const EXAMPLES: &str = "\
Examples:
  goose completion bash > ~/.local/share/bash-completion/completions/goose
  goose completion zsh > ~/.zfunc/_goose      ('fpath+=~/.zfunc' in ~/.zshrc)
  goose completion fish > ~/.config/fish/completions/goose.fish
  goose completion nu | save goose.nu          ('use goose.nu *' in config.nu)

The script has the agents that exist now. Generate it again after you add one.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// Shell to complete for
    #[arg(value_enum)]
    shell: CompletionShell,
    /// Name of the program in the script
    #[arg(long, value_name = "NAME", default_value = "goose")]
    bin_name: String,
}

/// Shell to complete for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CompletionShell {
    Bash,
    Elvish,
    Fish,
    #[value(name = "nu", alias = "nushell")]
    Nu,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionArgs, command: Command) -> anyhow::Result<ExitCode> {
    let catalog = match (Paths::from_env(), env::current_dir()) {
        (Ok(paths), Ok(folder)) => AgentCatalog::load(&paths, &folder),
        _ => AgentCatalog::builtin(),
    };
    let mut script = Vec::new();
    let mut command = with_agents(command, &catalog);
    let name = args.bin_name.as_str();
    match args.shell {
        CompletionShell::Bash => generate(Shell::Bash, &mut command, name, &mut script),
        CompletionShell::Elvish => generate(Shell::Elvish, &mut command, name, &mut script),
        CompletionShell::Fish => generate(Shell::Fish, &mut command, name, &mut script),
        CompletionShell::Nu => generate(Nushell, &mut command, name, &mut script),
        CompletionShell::PowerShell => generate(Shell::PowerShell, &mut command, name, &mut script),
        CompletionShell::Zsh => generate(Shell::Zsh, &mut command, name, &mut script),
    }
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Lists agents, permission modes and providers as the values of the arguments that name one, and the modes for
/// `agents tools`. Only the script needs them; when a command runs, its own check says what is wrong with a name.
fn with_agents(command: Command, catalog: &AgentCatalog) -> Command {
    // Without its feature `string`, clap takes static texts only; the process ends after the script.
    let fixed = |name: &str| -> &'static str { name.to_owned().leak() };
    let (mut names, mut slugs) = (Vec::new(), Vec::new());
    for manifest in catalog.agents.iter().map(|entry| &entry.manifest) {
        names.push(fixed(&manifest.name));
        for mode in &manifest.modes {
            names.push(fixed(&format!("{}/{}", manifest.name, mode.slug)));
            slugs.push(fixed(&mode.slug));
        }
    }
    let modes = MODES.iter().map(|(name, _)| *name).collect();
    let registry = Registry::new(CustomProviders::default());
    let providers = registry.known().iter().map(|provider| fixed(&provider.name)).collect();
    let values = [("agent", names), ("mode", modes), ("provider", providers)];
    with_values(command, &values).mut_subcommand("agents", |agents| {
        agents.mut_subcommand("tools", |tools| {
            tools.mut_arg("mode", |mode| mode.value_parser(PossibleValuesParser::new(slugs)))
        })
    })
}

/// Sets the possible values of all arguments with these ids.
fn with_values(mut command: Command, values: &[(&'static str, Vec<&'static str>)]) -> Command {
    for (id, names) in values {
        if command.get_arguments().any(|argument| argument.get_id() == id) {
            let parser = PossibleValuesParser::new(names.iter().copied());
            command = command.mut_arg(id, |argument| argument.value_parser(parser));
        }
    }
    command.mut_subcommands(|subcommand| with_values(subcommand, values))
}
