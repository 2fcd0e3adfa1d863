//! Arguments that several commands share: extensions, the model, the session, JSON output.

use std::{env, path::PathBuf};

use clap::{
    ArgGroup, Args, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
    value_parser,
};
use goose::builtins::platform;

use crate::{builtins::SERVICES, settings::ConfigArgs};

/// Heading of the flags that select extensions.
const EXTENSIONS: &str = "Extensions";

/// Heading of the flags that select the model.
const MODEL: &str = "Model";

/// Heading of the flags that select the session.
pub(crate) const SESSION: &str = "Session";

/// Extensions to use in addition to, or instead of, the configured ones.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExtensionArgs {
    /// Add an MCP server program: '[NAME:] KEY=VALUE … program argument …'
    #[arg(long = "with-extension", value_name = "CMD", help_heading = EXTENSIONS)]
    pub(crate) commands: Vec<String>,
    /// Add an MCP server that is reached over HTTP: 'URL' or 'URL timeout=SECONDS'
    #[arg(long = "with-streamable-http-extension", value_name = "URL", help_heading = EXTENSIONS)]
    pub(crate) urls: Vec<String>,
    /// Add built-in extensions, such as 'memory' or 'memory,tutorial'
    #[arg(
        long = "with-builtin",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = builtins(),
        help_heading = EXTENSIONS
    )]
    pub(crate) builtins: Vec<String>,
    /// Ignore configured extensions; use only those given here
    #[arg(long, help_heading = EXTENSIONS)]
    pub(crate) no_profile: bool,
}

/// The subcommand of a command, and the configuration that all of them use.
#[derive(Debug, Args)]
pub(crate) struct SubcommandArgs<C: Subcommand> {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(subcommand)]
    pub(crate) command: Option<C>,
}

/// Machine-readable output.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print one JSON document, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Output format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ListFormat {
    /// Lines.
    #[default]
    Text,
    /// One document.
    Json,
}

/// The session to start or resume, and its limits.
#[derive(Debug, Clone, Default, Args)]
#[command(group(ArgGroup::new("resumes").multiple(true)))]
pub(crate) struct ConversationArgs {
    /// Name of the session to start or resume; of the copy with --fork and --session-id
    #[arg(short, long, help_heading = SESSION)]
    pub(crate) name: Option<String>,
    /// Resume the session with this id
    #[arg(long, value_name = "ID", group = "resumes", help_heading = SESSION)]
    pub(crate) session_id: Option<String>,
    /// Resume the session that this file of an earlier version is named after
    #[arg(long, value_name = "FILE", conflicts_with = "session_id", hide = true)]
    pub(crate) path: Option<PathBuf>,
    /// Resume the named session, or the latest one of this folder; 'goose session' shows a list at a terminal
    #[arg(short, long, group = "resumes", help_heading = SESSION)]
    pub(crate) resume: bool,
    /// Resume a copy and leave the original unchanged
    #[arg(long, group = "resumes", help_heading = SESSION)]
    pub(crate) fork: bool,
    /// Agent to talk to, with its mode: 'coding-agent/backend'
    #[arg(long, value_name = "AGENT[/MODE]", help_heading = SESSION)]
    pub(crate) agent: Option<String>,
    /// Run a list of independent jobs as tasks, side by side, without asking
    #[arg(long, conflicts_with = "no_split", help_heading = SESSION)]
    pub(crate) split: bool,
    /// Treat every request as one
    #[arg(long, help_heading = SESSION)]
    pub(crate) no_split: bool,
    /// Maximum number of model calls per reply
    #[arg(long, value_name = "N", help_heading = SESSION, value_parser = value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Maximum number of identical tool calls in a row
    #[arg(long, value_name = "N", help_heading = SESSION)]
    pub(crate) max_tool_repetitions: Option<u32>,
    /// Show tool arguments and results in full
    #[arg(long, help_heading = SESSION)]
    pub(crate) debug: bool,
    /// Show which agent answers and why, and what its tasks do
    #[arg(long, help_heading = SESSION)]
    pub(crate) verbose: bool,
}

/// The model, its configuration, and what it may do.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArgs {
    /// Provider of the model, such as 'openai' or 'anthropic'
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) provider: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) model: Option<String>,
    /// Profile from the configuration, or a file that contains one
    #[arg(long, value_name = "NAME", help_heading = MODEL)]
    pub(crate) profile: Option<String>,
    /// Use this file instead of config.yaml in the config folder
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(crate) config: Option<PathBuf>,
    /// Permission mode: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE", help_heading = MODEL)]
    pub(crate) mode: Option<String>,
    /// Trust this project's configuration, agents, skills, recipes and hooks
    #[arg(long, help_heading = MODEL)]
    pub(crate) trust_project: bool,
    /// Download the small local model without asking, if it is needed
    #[arg(long, help_heading = MODEL)]
    pub(crate) yes: bool,
}

/// Consent given in advance, by a flag or by the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The user must be asked.
    Ask,
    /// Consent is given.
    Given,
}

impl Consent {
    /// Consent is given by the flag, or by the environment variable.
    pub(crate) fn new(flag: bool, variable: &str) -> Self {
        let by_variable =
            env::var(variable).is_ok_and(|value| matches!(value.as_str(), "1" | "true" | "yes"));
        if flag || by_variable { Self::Given } else { Self::Ask }
    }
}

/// Accepts the names of built-in extensions.
pub(crate) fn builtins() -> PossibleValuesParser {
    let services = SERVICES.iter().map(|builtin| PossibleValue::new(builtin.name));
    // Scripts of other versions name them; they come with the agents.
    let platform = platform().iter().filter(|extension| extension.comes_with_agents());
    let platform = platform.map(|extension| PossibleValue::new(extension.name).hide(true));
    PossibleValuesParser::new(services.chain(platform))
}
