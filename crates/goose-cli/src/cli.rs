//! The command line: its commands, their help, and dispatch to `commands`.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::Write as _,
    process::ExitCode,
};

use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[cfg(feature = "local")]
use crate::commands::models;
#[cfg(feature = "server")]
use crate::commands::serve;
use crate::{
    args::SubcommandArgs,
    commands::{
        acp, agents, apps, completion, configure, doctor, extension, hooks, info, mcp, permissions, recipe,
        review, run, schedule, session, skills,
    },
    settings::ConfigArgs,
    stderr, suggest,
};

const EXAMPLES: &str = "\
Examples:
  goose                                start a session
  goose run 'Fix the failing test'     run a single task
  git diff | goose                     run the task that is piped in
  goose review --staged                review what the next commit would have
  goose extension list                 list configured extensions
  goose extension status               start them and show their status
  goose mcp memory                     serve a built-in to other programs
  goose mcp agents                     serve the agents to other programs
  goose acp                            serve an editor, such as Zed

Run `goose COMMAND --help` for more about a command.";

/// An AI agent that works with your tools.
#[derive(Debug, Parser)]
#[command(name = "goose", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The command to run.
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a session, or manage saved ones
    #[command(visible_alias = "s", after_help = session::args::EXAMPLES)]
    Session(Box<session::args::SessionArgs>),
    /// Run a single task and exit
    #[command(after_help = run::args::EXAMPLES)]
    Run(Box<run::args::RunArgs>),
    /// Review a change: findings with file, line and severity
    #[command(after_help = review::args::EXAMPLES)]
    Review(Box<review::args::ReviewArgs>),
    /// Inspect agents and their modes, and add your own
    #[command(visible_alias = "agent", after_help = agents::EXAMPLES)]
    Agents(SubcommandArgs<agents::AgentsCommand>),
    /// Check, list and explain recipes, and make links to them
    #[command(visible_alias = "recipes", after_help = recipe::EXAMPLES)]
    Recipe(SubcommandArgs<recipe::RecipeCommand>),
    /// List, show and check skills
    #[command(visible_alias = "skill", after_help = skills::EXAMPLES)]
    Skills(SubcommandArgs<skills::SkillsCommand>),
    /// Create and manage small HTML apps
    #[command(after_help = apps::EXAMPLES)]
    Apps(apps::AppsArgs),
    /// Inspect extensions and call their tools
    #[command(visible_alias = "extensions", after_help = extension::args::EXAMPLES)]
    Extension(SubcommandArgs<extension::args::ExtensionCommand>),
    /// List the hooks that run at fixed points of a session, and test them
    #[command(after_help = hooks::EXAMPLES)]
    Hooks(SubcommandArgs<hooks::HooksCommand>),
    /// Serve a built-in extension, or the agents, as an MCP server on standard input and output
    Mcp(mcp::McpArgs),
    /// Serve an editor, as an agent of the Agent Client Protocol on standard input and output
    #[command(after_help = acp::EXAMPLES)]
    Acp(Box<acp::AcpArgs>),
    /// Serve the agents to other agents and programs over HTTP
    #[cfg(feature = "server")]
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<serve::ServeArgs>),
    /// Manage local models
    #[cfg(feature = "local")]
    #[command(visible_aliases = ["local-models", "lm"], after_help = models::args::EXAMPLES)]
    Models(SubcommandArgs<models::args::ModelsCommand>),
    /// Configure the model, API key, extensions and modes, interactively or with flags
    Configure(configure::ConfigureArgs),
    /// Show permission rules, and explain whether a command is allowed
    #[command(after_help = permissions::args::EXAMPLES)]
    Permissions(SubcommandArgs<permissions::args::PermissionsCommand>),
    /// Run recipes at times: manage jobs, and run what is due
    #[command(visible_alias = "sched", after_help = schedule::args::EXAMPLES)]
    Schedule(SubcommandArgs<schedule::args::ScheduleCommand>),
    /// Show version, configuration and folders
    Info(info::InfoArgs),
    /// Check the installation and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Generate a shell completion script
    Completion(completion::CompletionArgs),
}

/// Parses the arguments. Prints help and errors, and exits then.
pub(crate) fn parse() -> Cli {
    let mut args: Vec<OsString> = env::args_os().collect();
    separate_text(&mut args);
    parse_run(&args).unwrap_or_else(|| {
        // clap takes flags of `help` for commands.
        if args.get(1).is_some_and(|word| word == "help") && args.get(2).is_some_and(|word| is_help(word)) {
            args.remove(1);
        }
        Cli::try_parse_from(&args)
            .unwrap_or_else(|error| suggest::improved(error, Cli::command(), &args).exit())
    })
}

fn is_help(word: &OsStr) -> bool {
    word == "--help" || word == "-h"
}

/// Separates a text such as `- fix this` or `-5 plus 3` at the end from the flags.
fn separate_text(args: &mut Vec<OsString>) {
    let is_text = |word: &OsString| {
        let rest = word.to_str().and_then(|word| word.strip_prefix('-'));
        rest.is_some_and(|rest| {
            rest.contains(' ') && rest.starts_with(|c: char| c == ' ' || c.is_ascii_digit())
        })
    };
    let is_value =
        args.iter().rev().nth(1).is_some_and(|word| word.to_str().is_some_and(|it| it.starts_with('-')));
    if !is_value && let Some(text) = args.pop_if(|word| is_text(word)) {
        args.extend(["--".into(), text]);
    }
}

/// Parses `goose run` alone, where nothing is wrong with it. Describing all commands takes ten times as long as this.
fn parse_run(args: &[OsString]) -> Option<Cli> {
    const RUN: &str = "run";
    let args = args.get(1..)?;
    if args.first()? != RUN {
        return None;
    }
    let command = run::args::RunArgs::augment_args(clap::Command::new(RUN));
    let matches = command.try_get_matches_from(args).ok()?;
    let args = run::args::RunArgs::from_arg_matches(&matches).ok()?;
    Some(Cli { command: Some(Command::Run(Box::new(args))) })
}

/// Runs the command that the arguments name.
pub(crate) fn run_command(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Some(Command::Extension(args)) => run_or_help(args, "extension", extension::run),
        Some(Command::Agents(args)) => run_or_help(args, "agents", agents::run),
        Some(Command::Recipe(args)) => run_or_help(args, "recipe", recipe::run),
        Some(Command::Skills(args)) => run_or_help(args, "skills", skills::run),
        Some(Command::Apps(args)) => match args.command {
            Some(command) => apps::run(command),
            None => help(Some("apps")),
        },
        Some(Command::Hooks(args)) => run_or_help(args, "hooks", hooks::run),
        Some(Command::Mcp(args)) => mcp::run(&args.name),
        Some(Command::Acp(args)) => acp::run(*args),
        #[cfg(feature = "server")]
        Some(Command::Serve(args)) => serve::run(*args),
        Some(Command::Session(args)) => session::run(*args),
        Some(Command::Run(args)) => run::run(*args),
        Some(Command::Review(args)) => review::run(&args),
        #[cfg(feature = "local")]
        Some(Command::Models(args)) => run_or_help(args, "models", models::run),
        Some(Command::Configure(args)) => configure::run(&args),
        Some(Command::Permissions(args)) => run_or_help(args, "permissions", permissions::run),
        Some(Command::Schedule(args)) => run_or_help(args, "schedule", schedule::run),
        Some(Command::Info(args)) => info::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Completion(args)) => completion::run(&args, Cli::command()),
        None if stderr::can_ask() => run_command(Cli::parse_from(["goose", "session"])),
        None => match run::run_piped()? {
            Some(code) => Ok(code),
            None => help(None),
        },
    }
}

/// Runs a subcommand, or prints the help of its command if there is none.
fn run_or_help<C: Subcommand>(
    args: SubcommandArgs<C>,
    name: &str,
    run: fn(C, &ConfigArgs) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(command) => run(command, &args.config),
        None => help(Some(name)),
    }
}

/// Prints the help of a command that was called without its subcommand.
fn help(subcommand: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut root = Cli::command();
    root.build();
    let help = match subcommand.and_then(|name| root.find_subcommand_mut(name)) {
        Some(command) => command.render_help(),
        None => root.render_help(),
    };
    write!(anstream::stdout(), "{}", help.ansi())?;
    Ok(ExitCode::SUCCESS)
}
