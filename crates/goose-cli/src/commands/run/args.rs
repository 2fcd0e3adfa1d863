//! Arguments of `goose run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goose::session::schedule::JobId;

use crate::args::{ConversationArgs, ExtensionArgs, ModelArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose run 'What does this project do?'
  goose run -i task.md --max-turns 50
  git diff | goose run 'Review this change:'
  goose run --resume -t 'And now the tests'
  goose run --recipe release.yaml --params version=2.0
  goose run -t 'List the ports' --schema ports.json --output-format json

The answer goes to standard output, everything else to standard error: calls,
results and retries as plain lines where that is no terminal (not with -q).
What is piped in is appended to the task, up to 512 KB.
In a task on the command line, @FILE and @FOLDER/ attach files that exist, and
so do paths of images: up to 20 files, 256 KB of text, and 10 MB per image.
With --output-format json: {\"messages\": [...], \"metadata\": {session_id,
total_tokens, input_tokens, output_tokens, cost_usd, status, ...}}, and
'structured' with --schema. With stream-json: one line per event, {\"type\":
\"message\" | \"notification\" | \"error\" | \"complete\", \"session_id\": ...}. A
message is written as a whole once it is stored; its parts are text, image,
reasoning, toolRequest and toolResponse. Text that is still being written
comes as notifications with 'text_delta'. 'complete' has the fields of
'metadata'.
Exit codes: 0 success, 1 error, 3 limit of --max-turns reached, 130 cancelled
with Ctrl-C.";

/// Heading of the flags about recipes.
const RECIPE: &str = "Recipe";

/// Arguments of `goose run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Task to run
    #[arg(value_name = "TEXT", conflicts_with = "text")]
    pub(crate) words: Option<String>,
    /// Task to run
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Read the task from a file, '-' for standard input; appended to --text
    #[arg(short, long, value_name = "FILE")]
    pub(crate) instructions: Option<PathBuf>,
    /// Attach an image to the task; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Additional system instructions
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// Print only the answer
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print the time and the tokens that it took to standard error
    #[arg(long)]
    pub(crate) stats: bool,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output_format: OutputFormat,
    /// Require an answer that matches the JSON schema in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Continue with an interactive session afterwards
    #[arg(short = 's', long)]
    pub(crate) interactive: bool,
    /// Do not save the session
    #[arg(long, conflicts_with_all = ["resume", "name", "session_id", "fork"])]
    pub(crate) no_session: bool,
    /// Job that this is a run of
    #[arg(long, value_name = "ID", hide = true)]
    pub(crate) scheduled_by: Option<JobId>,
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) which: ExtensionArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
}

/// Output format of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text, as it streams.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// One line of JSON per event.
    StreamJson,
}

/// The recipe to run.
#[derive(Debug, Args)]
pub(crate) struct RecipeArgs {
    /// Run a recipe, by name, path or link; a task is appended to its prompt
    #[arg(long, value_name = "RECIPE", help_heading = RECIPE)]
    pub(crate) recipe: Option<String>,
    /// Value of a parameter; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "recipe", help_heading = RECIPE)]
    pub(crate) params: Vec<String>,
    /// Add a recipe for parts of the task; may be repeated
    #[arg(long = "sub-recipe", value_name = "FILE", requires = "recipe", help_heading = RECIPE)]
    pub(crate) sub_recipe: Vec<String>,
    /// Show what the recipe does, and do not run it
    #[arg(long, requires = "recipe", help_heading = RECIPE)]
    pub(crate) explain: bool,
    /// Print the recipe with its values, and do not run it
    #[arg(long = "render-recipe", requires = "recipe", help_heading = RECIPE)]
    pub(crate) render_recipe: bool,
}
