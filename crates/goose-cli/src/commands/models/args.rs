//! What `goose models` takes.

use clap::{Args, Subcommand, ValueEnum};

use crate::{cli::Form, settings::ConfigArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  goose models list                    what there is, and what is here
  goose models pull                    fetch the model for machines without a key
  goose models verify                  whether the files are as they should be
  goose models use ~/qwen3-4b.gguf     use a file of your own from now on

Files are kept in 'models' in goose's data folder. Downloads go on where they
ended, and count only when their hash is right. HF_ENDPOINT names another model
hub; models.json in the config folder adds models of your own.";

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

At a terminal you are asked once. Elsewhere --yes or GOOSE_YES=1 is the answer.
Ctrl-C keeps what has come; the next 'pull' goes on from there.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  goose models verify
  goose models verify qwen2.5-coder-1.5b

The exit code is 1 where a file is not as it should be.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  goose models remove qwen2.5-coder-1.5b

Only files in goose's own folder are removed. A file that you put there yourself
is removed after a question, or with --yes; GOOSE_YES does not count for that.";

const USE_EXAMPLES: &str = "\
Examples:
  goose models use ~/models/qwen3-4b-q4_k_m.gguf
  goose models use qwen2.5-coder-1.5b

It sets GOOSE_PROVIDER to 'local' and GOOSE_MODEL to the file or the name in
config.yaml; the file stays where it is.";

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Show the models that can be had, and those that are here
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Fetch a model
    #[command(after_help = PULL_EXAMPLES)]
    Pull {
        /// The model; the one for machines without a key where none is named
        name: Option<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Check the hash of models that are here
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify {
        /// The model; all that are here where none is named
        name: Option<String>,
    },
    /// Remove a model that is here
    #[command(after_help = REMOVE_EXAMPLES)]
    Remove {
        /// The model
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Use a model from now on: a GGUF file, or one that is here by its name
    #[command(after_help = USE_EXAMPLES)]
    Use {
        /// The file, or the name
        file: String,
    },
}

/// How models are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// How the list is written
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ListFormat {
    /// Lines.
    #[default]
    Text,
    /// One document.
    Json,
}
