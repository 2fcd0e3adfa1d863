//! Arguments of `goose models`.

use clap::{Args, Subcommand};

use crate::args::{JsonArgs, ListFormat};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose models list                    list available and downloaded models
  goose models pull                    download the default local model
  goose models verify                  check the downloaded files
  goose models use ~/qwen3-4b.gguf     use your own model file

Files are kept in 'models' in goose's data folder. Downloads resume, and
are used only after their checksum is verified. HF_ENDPOINT sets another model
hub; models.json in the config folder adds your own models.";

const LIST_EXAMPLES: &str = "\
Examples:
  goose models list
  goose models list --format json

As JSON: {\"folder\", \"models\": [{name, title, file, state, bytes_here, bytes,
sha256, licence, context, sources, in_use}]}; 'state' is 'here', 'part',
'damaged' or 'absent'.";

const PULL_EXAMPLES: &str = "\
Examples:
  goose models pull
  GOOSE_YES=1 goose models pull qwen2.5-coder-1.5b

At a terminal goose asks once; elsewhere pass --yes or set GOOSE_YES=1.
Ctrl-C keeps the partial download; the next 'pull' resumes it.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  goose models verify
  goose models verify qwen2.5-coder-1.5b

Exit code 1: a file is damaged.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  goose models remove qwen2.5-coder-1.5b

Only files in goose's own folder are removed. A file that you put there yourself
is removed after confirmation, or with --yes; GOOSE_YES does not confirm that.";

const USE_EXAMPLES: &str = "\
Examples:
  goose models use ~/models/qwen3-4b-q4_k_m.gguf
  goose models use qwen2.5-coder-1.5b

Sets GOOSE_PROVIDER to 'local' and GOOSE_MODEL to the file or the name in
config.yaml; the file stays where it is. Then says how much memory the model
needs, and measures how fast it is on this machine.";

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List available and downloaded models
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Download a model
    #[command(visible_alias = "download", after_help = PULL_EXAMPLES)]
    Pull {
        /// Name of the model; the default local model by default
        name: Option<String>,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Verify the checksum of downloaded models
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify {
        /// Name of the model; all downloaded ones by default
        name: Option<String>,
    },
    /// Remove a downloaded model
    #[command(visible_alias = "delete", after_help = REMOVE_EXAMPLES)]
    Remove {
        /// Name of the model
        name: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Use a model by default: a GGUF file, or a downloaded model by name
    #[command(after_help = USE_EXAMPLES)]
    Use {
        /// File or name
        file: String,
    },
}

/// Arguments of `goose models list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) form: JsonArgs,
}
