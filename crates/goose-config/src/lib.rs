//! The configuration: settings in layers, extensions, secrets, folders.
//!
//! | where | what for |
//! | --- | --- |
//! | `settings.rs` | the layers: defaults < user < project < environment < command line |
//! | `profile.rs` | the models, extensions and limits of an exchange |
//! | `project.rs` | a project's own file, used only after consent |
//! | `file.rs`, `yaml.rs` | `config.yaml`, read as it is, with lines in every error |
//! | `editor.rs`, `yaml_edit.rs` | edits that keep everything else as it is, all or nothing |
//! | `extension.rs`, `serde_repr.rs`, `command_line.rs` | one extension: its type, its written form, its checks, the `--with-extension` form, entries of other versions |
//! | `secrets.rs`, `keyring.rs` | values by name: the environment, `secrets.yaml`, `config.yaml`, the keyring |
//! | `environment.rs` | the environment of a child process, the headers of a remote server |
//! | `fingerprint.rs` | the hash of what would run |
//! | `paths.rs` | goose's folders |
//!
//! Nothing here reads the environment by itself, except the constructors that say so ([`Paths::from_env`],
//! [`EnvSecrets::from_process`], [`BaseEnvironment::from_process`], [`SettingsSource::of_this_process`],
//! [`Keyring::of_this_process`]); programs call them.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

mod command_line;
pub mod digest;
mod editor;
mod environment;
mod error;
mod extension;
mod file;
mod fingerprint;
mod keyring;
mod mode;
mod moderator;
mod paths;
mod profile;
mod project;
mod secrets;
mod serde_repr;
mod settings;
mod yaml;
mod yaml_edit;

pub use editor::{ConfigEditor, Switch};
pub use environment::{BaseEnvironment, Resolved, substitute};
pub use error::{ConfigError, Place};
pub use extension::{DEFAULT_TIMEOUT, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, OAuthConfig};
pub use file::{ConfigFile, ConfiguredExtension, MAX_CONFIG_BYTES, MAX_ENTRIES, read_capped};
pub use goose_extension::{
    HIDDEN, is_secret_variable, looks_secret, shown_address, shown_arguments, shown_header, shown_value,
};
pub use keyring::{Keyring, KeyringSecrets};
pub use mode::{Mode, UnknownMode};
pub use moderator::Moderator;
pub use paths::Paths;
pub use profile::{ACTIVE_PROVIDER, DEFAULT_EXTENSIONS, Missing, Profile, ProfileExtension};
pub use project::{PROJECT_CONFIG, ProjectFile, Trust, TrustStore, is_ours, levels as project_levels};
pub use secrets::{EnvSecrets, FileSecrets, MAX_SECRETS_BYTES, Secret, SecretChain, Secrets};
pub use serde_repr::Values;
pub use settings::{Origin, Settings, SettingsSource};
pub use yaml::{read_yaml, written_value};
