//! Arguments of `goose extension`.

use clap::Subcommand;

use crate::args::{ExtensionArgs, JsonArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose extension list
  goose extension status memory
  goose extension tools --with-extension 'uvx mcp-server-fetch'
  goose extension resources
  goose extension call tutorial load_tutorial --args '{\"name\": \"first-game\"}'

Extensions are configured under 'extensions:' in config.yaml, in goose's config
folder (`goose info` shows the path), and in a project's .goose/config.yaml if
that file is trusted.";

const LIST_EXAMPLES: &str = "\
Examples:
  goose extension list
  goose extension list --json

With --json: {\"config\": FILE, \"extensions\": [{key, source, enabled, type,
target, description, error}]}. 'source' is 'config', 'project', 'flag' or
'builtin' (not configured); 'target' is the command or the address.";

const STATUS_EXAMPLES: &str = "\
Examples:
  goose extension status
  goose extension status memory tutorial
  goose extension status --no-profile --with-extension 'uvx mcp-server-fetch'

With --json: {\"ready\": BOOL, \"extensions\": [{name, type, state, reason,
ready_ms, ping_ms, protocol, version, description, tools, missing_tools,
dropped_tools: [{name, reason}], stderr}]}.
Exit code 1: at least one extension is not ready.";

const TOOLS_EXAMPLES: &str = "\
Examples:
  goose extension tools
  goose extension tools memory --json

With --json: {\"tools\": [MCP tool objects, each with 'extension'],
\"problems\": [{extension, error}]}.
Exit code 1: the tools of at least one extension could not be listed.";

const RESOURCES_EXAMPLES: &str = "\
Examples:
  goose extension resources
  goose extension resources notes
  goose extension resources notes --read note://today

With --json: {\"resources\": [MCP resource objects, each with 'extension'],
\"problems\": [{extension, error}]}; with --read, the MCP result, {contents}.
Exit code 1: a server failed, or the resource does not exist.";

const CALL_EXAMPLES: &str = "\
Examples:
  goose extension call tutorial load_tutorial --args '{\"name\": \"first-game\"}'
  echo '{\"text\": \"hello\"}' | goose extension call notes add --args -
  goose extension call notes add --args @note.json --json

With --json: the MCP result, {content, structuredContent, isError, _meta}.
Exit codes: 1 the tool failed, 130 cancelled with Ctrl-C.";

#[derive(Debug, Subcommand)]
pub(crate) enum ExtensionCommand {
    /// List configured extensions without starting them
    #[command(after_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        which: ExtensionArgs,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Start extensions and show their status
    #[command(after_help = STATUS_EXAMPLES)]
    Status {
        /// Extensions to start; all enabled ones by default
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        which: ExtensionArgs,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// List tools under the names that a model sees
    #[command(after_help = TOOLS_EXAMPLES)]
    Tools {
        /// Extensions to list; all enabled ones by default
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Start all extensions, including those with a cached tool list
        #[arg(long)]
        fresh: bool,
        #[command(flatten)]
        which: ExtensionArgs,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// List the resources of servers, or read one
    #[command(after_help = RESOURCES_EXAMPLES)]
    Resources {
        /// Server to list; all enabled extensions by default
        #[arg(value_name = "SERVER")]
        name: Option<String>,
        /// Print the contents of a resource
        #[arg(long, value_name = "URI")]
        read: Option<String>,
        #[command(flatten)]
        which: ExtensionArgs,
        #[command(flatten)]
        form: JsonArgs,
    },
    /// Call a tool
    #[command(after_help = CALL_EXAMPLES)]
    Call {
        /// Extension that has the tool
        name: String,
        /// Name of the tool, with or without the extension's prefix
        tool: String,
        /// Arguments as a JSON object; '-' reads standard input, '@FILE' a file
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        /// Show all logs and progress, even if standard error is not a terminal
        #[arg(short, long)]
        verbose: bool,
        #[command(flatten)]
        which: ExtensionArgs,
        #[command(flatten)]
        form: JsonArgs,
    },
}

impl ExtensionCommand {
    /// Returns the extensions selected by flags.
    pub(crate) fn which(&self) -> &ExtensionArgs {
        match self {
            Self::List { which, .. }
            | Self::Status { which, .. }
            | Self::Tools { which, .. }
            | Self::Resources { which, .. }
            | Self::Call { which, .. } => which,
        }
    }
}
