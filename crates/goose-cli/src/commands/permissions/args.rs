//! Arguments of `goose permissions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use goose::permission::Mode;

use crate::args::JsonArgs;

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose permissions list
  goose permissions explain 'git status && cargo test'
  goose permissions test --json 'rm -rf build'

Rules are kept in permission.yaml in goose's config folder. Deny wins over ask,
ask over allow.";

const LIST_EXAMPLES: &str = "\
Examples:
  goose permissions list
  goose permissions list --json

With --json: {mode, from, file, problem, rules: [{effect, tool, rule}],
protected: [{access, path}], unknown_tools: [RULE]}.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  goose permissions explain 'git push'
  goose permissions explain --mode approve --dir ~/project 'make test > log'
  goose permissions explain - < script.sh
  goose permissions explain https://docs.rs/serde

Nothing is run. The same rules, folder, shell and home are used as in a session.";

const TEST_EXAMPLES: &str = "\
Examples:
  goose permissions test 'git push'
  goose permissions test --json 'git status; rm x'

With --json: {verdicts: {auto, smart_approve, approve}, segments: [{command,
runs, variables, reads_only, rules}], reason, mode, reasons: {MODE: [TEXT]},
files: [{path, access}], not_understood: [TEXT]}. A verdict is 'allow', 'ask' or
'deny'; 'reason' is that of 'mode'. Nothing is run.";

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules, the protected files, and rules that name no known tool
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Explain the verdict about a shell command or a URL in each mode
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(CommandArgs),
    /// Print the verdict about a shell command or a URL in each mode
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
}

/// The folder and mode that the rules are applied in.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Permission mode: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Working folder; the current one by default
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// Command line in quotes, or a URL; '-' reads it from standard input
    pub(crate) command: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}
