//! What `goose run` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{
    cli::Which,
    commands::session::args::{ConversationArgs, ModelArgs},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose run 'What does this project do?'
  goose run -i task.md --max-turns 50
  git diff | goose run -t 'Review this change:' -i -
  goose run --resume -t 'And now the tests'
  goose run -t 'List the ports' --schema ports.json --output-format json

The answer goes to standard output, everything else to standard error.
With --output-format json: {\"messages\": [...], \"metadata\": {total_tokens,
input_tokens, output_tokens, cost_usd, status, ...}}, and 'structured' with
--schema. With stream-json: a line for each event, {\"type\": \"message\" |
\"notification\" | \"error\" | \"complete\", ...}. A message is written whole, when
it is stored; its parts are text, image, reasoning, toolRequest and
toolResponse. 'complete' has what 'metadata' has.
The exit code is 0 when the model has answered, 1 where it failed, 3 where it
was asked as often as --max-turns allows, and 130 where Ctrl-C cancelled it.";

/// What to do, and how.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do
    #[arg(value_name = "TEXT", conflicts_with = "text")]
    pub(crate) words: Option<String>,
    /// What to do
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Read what to do from a file; '-' is standard input. With --text, it follows that text
    #[arg(short, long, value_name = "FILE")]
    pub(crate) instructions: Option<PathBuf>,
    /// Say more about how to work, besides what goose says of itself
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Show only the answer
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How the answer is written
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub(crate) output_format: OutputFormat,
    /// The answer must fit the JSON schema in this file; it is written as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Go on with a conversation afterwards
    #[arg(short = 's', long)]
    pub(crate) interactive: bool,
    /// Keep nothing of it
    #[arg(long, conflicts_with_all = ["resume", "name", "session_id", "fork"])]
    pub(crate) no_session: bool,
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// As text, while it comes.
    #[default]
    Text,
    /// As one JSON document at the end.
    Json,
    /// As a line of JSON for each event.
    StreamJson,
}

/// Flags that scripts may carry. Recipes are not a part of goose yet.
#[derive(Debug, Args)]
pub(crate) struct RecipeArgs {
    #[arg(long, hide = true)]
    recipe: Option<String>,
    #[arg(long, hide = true)]
    params: Vec<String>,
    #[arg(long = "sub-recipe", hide = true)]
    sub_recipe: Vec<String>,
    #[arg(long, hide = true)]
    explain: bool,
    #[arg(long = "render-recipe", hide = true)]
    render_recipe: bool,
}

impl RecipeArgs {
    /// Whether any of them is given.
    pub(crate) fn are_given(&self) -> bool {
        self.recipe.is_some()
            || !self.params.is_empty()
            || !self.sub_recipe.is_empty()
            || self.explain
            || self.render_recipe
    }
}
