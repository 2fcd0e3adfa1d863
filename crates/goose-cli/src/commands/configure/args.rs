//! Arguments of `goose configure`.

use clap::{Args, Subcommand, ValueEnum, value_parser};

use crate::settings::ConfigArgs;

const EXAMPLES: &str = "\
Examples:
  goose configure                                   step by step
  goose configure --provider anthropic --model claude-sonnet-5-5 --key-from-env MY_KEY
  goose configure --mode smart_approve --extension-enable memory
  goose configure set GOOSE_TEMPERATURE 0.3
  goose configure get GOOSE_MODEL
  goose configure login openrouter                  log in, and store the key
  goose configure trust                             trust what this project brings

Only the named keys change; comments and order of config.yaml are preserved.";

/// Heading of the flags that change something.
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
    #[command(
        after_help = "Examples:\n  goose configure set GOOSE_MAX_TURNS 50\n  goose configure set GOOSE_MODE smart_approve"
    )]
    Set {
        /// Key, such as GOOSE_MAX_TURNS
        key: String,
        /// Value: a number, true, false, a list like '[a, b]', or text
        value: String,
    },
    /// Show the effective value of a key
    #[command(after_help = "Examples:\n  goose configure get GOOSE_MODEL")]
    Get {
        /// Key
        key: String,
    },
    /// Remove a key from config.yaml, or a secret from its store
    #[command(after_help = "Examples:\n  goose configure unset GOOSE_MAX_TURNS")]
    Unset {
        /// Key
        key: String,
    },
    /// Log in at a service, and store the key that it gives
    #[command(
        after_help = "Examples:\n  goose configure login openrouter\n  goose configure login github_models --key-store file"
    )]
    Login(LoginArgs),
    /// Trust this project's configuration, agents, skills, recipes and hooks as they are
    #[command(after_help = "Examples:\n  goose configure trust\n  goose configure trust --yes")]
    Trust {
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Stop trusting this project's files
    #[command(after_help = "Examples:\n  goose configure distrust")]
    Distrust,
}

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Provider, such as 'openrouter' or 'github_models'; by default the configured one
    pub(super) provider: Option<String>,
    /// Store for the key; by default the keyring if there is one, otherwise secrets.yaml
    #[arg(long, value_enum, value_name = "PLACE")]
    pub(super) key_store: Option<KeyStore>,
    /// Give up after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = value_parser!(u32).range(1..))]
    pub(super) timeout: u32,
}

/// Requested changes.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Changes {
    /// Provider of the model, such as 'openai' or 'anthropic'
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) provider: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) model: Option<String>,
    /// Permission mode: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE", help_heading = CHANGES)]
    pub(super) mode: Option<String>,
    /// Store the API key from this environment variable
    #[arg(long, value_name = "VARIABLE", help_heading = CHANGES, conflicts_with = "key_stdin")]
    pub(super) key_from_env: Option<String>,
    /// Store the API key from standard input
    #[arg(long, help_heading = CHANGES)]
    pub(super) key_stdin: bool,
    /// Store for the key; by default the keyring if there is one, otherwise secrets.yaml
    #[arg(long, value_enum, value_name = "PLACE", help_heading = CHANGES)]
    pub(super) key_store: Option<KeyStore>,
    /// Enable an extension
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_enable: Vec<String>,
    /// Disable an extension
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_disable: Vec<String>,
    /// Add an MCP server program: 'KEY=VALUE … program argument …'
    #[arg(long, value_name = "CMD", help_heading = CHANGES)]
    pub(super) extension_add: Vec<String>,
    /// Remove an extension's entry
    #[arg(long, value_name = "NAME", help_heading = CHANGES)]
    pub(super) extension_remove: Vec<String>,
}

/// Storage of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyStore {
    /// The system's keyring
    Keyring,
    /// secrets.yaml in the config folder
    File,
}
