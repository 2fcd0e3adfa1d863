//! The command line: what can be said, and its help.

use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};
use goose_mcp::BUILTINS;

use crate::{commands, settings::ConfigArgs};

/// The heading of the flags that say which extensions are meant.
const WHICH: &str = "Which extensions";

const GOOSE_EXAMPLES: &str = "\
Examples:
  goose                                a conversation
  goose run 'Fix the failing test'     one task
  goose extension list                 what is configured
  goose extension status               start it, and see how it is
  goose mcp memory                     a built-in for other programs

`goose COMMAND --help` says more about a command.";

const EXTENSION_EXAMPLES: &str = "\
Examples:
  goose extension list
  goose extension status memory
  goose extension tools --with-extension 'uvx mcp-server-fetch'
  goose extension call tutorial load_tutorial --args '{\"name\": \"first-game\"}'

Extensions are configured under 'extensions:' in config.yaml, in goose's config
folder (`goose extension list` shows where), and in a project's
.goose/config.yaml where that is trusted.";

const LIST_EXAMPLES: &str = "\
Examples:
  goose extension list
  goose extension list --json

With --json: {\"config\": FILE, \"extensions\": [{key, source, enabled, type,
target, description, error}]}. 'source' is 'config', 'project', 'flag' or
'builtin' (not configured); 'target' is what would run, or the address.";

const STATUS_EXAMPLES: &str = "\
Examples:
  goose extension status
  goose extension status memory tutorial
  goose extension status --no-profile --with-extension 'uvx mcp-server-fetch'

With --json: {\"ready\": BOOL, \"extensions\": [{name, type, state, reason,
ready_ms, ping_ms, protocol, version, description, tools, missing_tools,
dropped_tools: [{name, reason}], stderr}]}.
The exit code is 1 where one of them is not ready.";

const TOOLS_EXAMPLES: &str = "\
Examples:
  goose extension tools
  goose extension tools memory --json

With --json: {\"tools\": [MCP tool objects, each with 'extension'],
\"problems\": [{extension, error}]}.
The exit code is 1 where the tools of one of them could not be listed.";

const CALL_EXAMPLES: &str = "\
Examples:
  goose extension call tutorial load_tutorial --args '{\"name\": \"first-game\"}'
  echo '{\"text\": \"hello\"}' | goose extension call notes add --args -
  goose extension call notes add --args @note.json --json

With --json: the MCP result, {content, structuredContent, isError, _meta}.
The exit code is 1 where the tool failed, and 130 where Ctrl-C cancelled it.";

/// An AI agent that works with your tools.
#[derive(Debug, Parser)]
#[command(name = "goose", version, after_help = GOOSE_EXAMPLES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with goose, or look after earlier conversations
    #[command(visible_alias = "s", after_help = commands::session::args::EXAMPLES)]
    Session(Box<commands::session::args::SessionArgs>),
    /// Do one task, from begin to end
    #[command(after_help = commands::run::args::EXAMPLES)]
    Run(Box<commands::run::args::RunArgs>),
    /// Look at extensions and try their tools
    #[command(visible_alias = "extensions", after_help = EXTENSION_EXAMPLES)]
    Extension {
        #[command(flatten)]
        config: ConfigArgs,
        #[command(subcommand)]
        command: Option<ExtensionCommand>,
    },
    /// Serve a built-in extension as an MCP server on standard input and output
    Mcp {
        /// The built-in
        #[arg(value_parser = builtins())]
        name: String,
    },
    /// Look after the files of models that run inside goose
    #[cfg(feature = "local")]
    #[command(after_help = commands::models::args::EXAMPLES)]
    Models(commands::models::args::ModelsArgs),
    /// Choose the model, its key, extensions and modes: step by step, or by flags
    Configure(commands::configure::ConfigureArgs),
    /// Show what this goose is, and what it is configured with
    Info(commands::info::InfoArgs),
    /// Look at each part that goose needs, and say how to mend what is broken
    Doctor(commands::doctor::DoctorArgs),
    /// Print a script that lets a shell complete goose's commands
    Completion(commands::completion::CompletionArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExtensionCommand {
    /// Show what is configured; nothing is started
    #[command(after_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        form: Form,
    },
    /// Start extensions and show how they are
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// The extensions; all enabled ones where none is named
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        form: Form,
    },
    /// List the tools of extensions under the names that a model sees
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools {
        /// The extensions; all enabled ones where none is named
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Start all extensions, also those whose tools are known from before
        #[arg(long)]
        fresh: bool,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        form: Form,
    },
    /// Call a tool
    #[command(after_help = CALL_EXAMPLES)]
    Call {
        /// The extension
        name: String,
        /// The tool, by its own name or its full one
        tool: String,
        /// Its arguments as a JSON object; '-' reads them from standard input, '@FILE' from a file
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        /// Show all that the tool logs, and its progress, also where standard error is no terminal
        #[arg(short, long)]
        verbose: bool,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        form: Form,
    },
}

impl ExtensionCommand {
    /// Which extensions it is about.
    pub(crate) fn which(&self) -> &Which {
        match self {
            Self::List { which, .. }
            | Self::Status { which, .. }
            | Self::Tools { which, .. }
            | Self::Call { which, .. } => which,
        }
    }
}

/// Which extensions are there besides, or instead of, the configured ones.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Add a program that speaks MCP, as 'KEY=VALUE … program argument …'
    #[arg(long = "with-extension", value_name = "CMD", help_heading = WHICH)]
    pub(crate) commands: Vec<String>,
    /// Add a server that speaks MCP over HTTP
    #[arg(long = "with-streamable-http-extension", value_name = "URL", help_heading = WHICH)]
    pub(crate) urls: Vec<String>,
    /// Add built-ins, such as 'memory' or 'memory,tutorial'
    #[arg(
        long = "with-builtin",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = builtins(),
        help_heading = WHICH
    )]
    pub(crate) builtins: Vec<String>,
    /// Leave out what is configured: only what these flags say
    #[arg(long, help_heading = WHICH)]
    pub(crate) no_profile: bool,
}

/// How the result is shown.
#[derive(Debug, Args)]
pub(crate) struct Form {
    /// Print one JSON document, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

fn builtins() -> PossibleValuesParser {
    PossibleValuesParser::new(BUILTINS.iter().map(|builtin| builtin.name))
}
