//! What `goose configure` takes.

use clap::{Args, Subcommand, ValueEnum};

use crate::settings::ConfigArgs;

const EXAMPLES: &str = "\
Examples:
  goose configure                                   step by step
  goose configure --provider anthropic --model claude-sonnet-5 --key-from-env MY_KEY
  goose configure --mode smart_approve --extension-enable memory
  goose configure set GOOSE_TEMPERATURE 0.3
  goose configure get GOOSE_MODEL
  goose configure trust                             this project's .goose/config.yaml

Only what is named is changed in config.yaml; its comments and its order stay.";

/// The heading of the flags that say what to change.
const CHANGES: &str = "Changes";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigureArgs {
    #[command(subcommand)]
    pub(super) command: Option<ConfigureCommand>,
    #[command(flatten)]
    pub(super) changes: Changes,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigureCommand {
    /// Set a key of config.yaml
    Set {
        /// The key, such as GOOSE_MAX_TURNS
        key: String,
        /// The value: a number, true, false, a list like '[a, b]', or text
        value: String,
    },
    /// Show the value of a key that counts here, wherever it comes from
    Get {
        /// The key
        key: String,
    },
    /// Take a key out of config.yaml, and a secret out of where it is kept
    Unset {
        /// The key
        key: String,
    },
    /// Trust the configuration of this project (.goose/config.yaml) as it is now
    Trust {
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// No longer trust the configuration of this project
    Distrust,
}

/// What is to be changed.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Changes {
    /// The service, such as 'openai' or 'anthropic'
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) provider: Option<String>,
    /// The model, as the service calls it
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) model: Option<String>,
    /// What may be done without asking: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE", help_heading = CHANGES)]
    pub(super) mode: Option<String>,
    /// Keep the service's key, which is in this environment variable
    #[arg(long, value_name = "VARIABLE", help_heading = CHANGES, conflicts_with = "key_stdin")]
    pub(super) key_from_env: Option<String>,
    /// Keep the service's key, which comes on standard input
    #[arg(long, help_heading = CHANGES)]
    pub(super) key_stdin: bool,
    /// Where to keep the key; the keyring where there is one, else secrets.yaml
    #[arg(long, value_enum, value_name = "PLACE", help_heading = CHANGES)]
    pub(super) key_store: Option<KeyStore>,
    /// Switch an extension on
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_enable: Vec<String>,
    /// Switch an extension off
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_disable: Vec<String>,
    /// Add a program that speaks MCP, as 'KEY=VALUE … program argument …'
    #[arg(long, value_name = "CMD", help_heading = CHANGES)]
    pub(super) extension_add: Vec<String>,
    /// Remove an extension's entry
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_remove: Vec<String>,
}

/// Where a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyStore {
    /// The system's keyring
    Keyring,
    /// secrets.yaml in the config folder
    File,
}
