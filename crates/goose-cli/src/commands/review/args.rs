//! Arguments of `goose review`.

use clap::{Args, value_parser};

use crate::args::{JsonArgs, ModelArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose review                        what is not committed yet
  goose review --staged               what the next commit would have
  goose review main..HEAD             the commits that main does not have
  goose review main...HEAD            what changed since the branch left main
  goose review HEAD~3                 the working tree, compared with a revision
  goose review --staged --json | jq '.findings[].title'

The model gets the change as git shows it, and can read and search other files,
but changes nothing. A finding names a file of the change; one at a line that
did not change says so. Files that are binary, protected or too long, and what
exceeds 200 KB or 200 files, are named and not reviewed.
With --json: {\"scope\": \"working_tree\" | \"staged\" | \"range\", \"range\",
\"files\": [...], \"findings\": [{\"file\", \"line\", \"severity\": \"critical\" |
\"high\" | \"medium\" | \"low\", \"title\", \"explanation\", \"suggestion\",
\"in_change\"}], \"summary\", \"left_out\": [{\"file\", \"reason\"}],
\"session_id\"}.
Exit codes: 0 no findings, 1 findings, 2 not reviewed because of an error,
3 limit of --max-turns reached, 130 cancelled with Ctrl-C.";

/// Arguments of `goose review`.
#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    /// Commits to review, such as 'main..HEAD', or a revision to compare the working tree with
    #[arg(value_name = "RANGE", conflicts_with = "staged")]
    pub(crate) range: Option<String>,
    /// Review only what is staged for the next commit
    #[arg(long)]
    pub(crate) staged: bool,
    /// Additional system instructions, such as what to look for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// Print only the findings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
    /// Maximum number of model calls
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Do not save the session
    #[arg(long)]
    pub(crate) no_session: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
