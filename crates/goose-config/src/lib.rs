//! The configuration of goose: settings in layers, extensions, profiles, secrets and folders.
//!
//! This crate reads and edits files, and decides nothing about sessions or running services.
//!
//! | file | purpose |
//! | --- | --- |
//! | `settings.rs`, `settings_source.rs` | layers: defaults < user < project < environment < command line |
//! | `profile.rs`, `settings_profile.rs` | the models, extensions and limits of an exchange |
//! | `project.rs` | files of a project, which are used only after the user trusts them |
//! | `file.rs`, `configured_extension.rs` | `config.yaml` and its entries, with lines in every error |
//! | `known_settings.rs`, `unknown_keys.rs` | settings and their meanings; keys that are probably misspelled |
//! | `editor.rs` | edits of `config.yaml` and `secrets.yaml` that keep everything else |
//! | `yaml.rs`, `yaml_tree.rs`, `yaml_edit.rs`, `yaml_write.rs` | YAML: values, positions, edits, new text |
//! | `extension.rs`, `extension_check.rs`, `serde_repr.rs` | one extension, its checks, its written form |
//! | `command_line.rs` | an extension from the text of `--with-extension` |
//! | `environment.rs` | variables of a child process, headers of a remote server |
//! | `secrets.rs`, `keyring.rs` | secrets by name: environment, `secrets.yaml`, `config.yaml`, keyring |
//! | `fingerprint.rs`, `digest.rs` | hashes that identify what would run |
//! | `mode.rs`, `moderator.rs` | the permission mode, the compaction strategy |
//! | `paths.rs` | the folders of goose |
//! | `keys.rs`, `error.rs`, `process_environment.rs` | shared keys, errors, the environment of this process |
//!
//! Only these constructors read the environment of the process; programs call them, and everything else
//! depends on its arguments: [`Paths::from_env`], [`EnvSecrets::from_process`],
//! [`BaseEnvironment::from_process`], [`SettingsSource::of_this_process`], [`Keyring::of_this_process`].

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

mod command_line;
mod configured_extension;
pub mod digest;
mod editor;
mod environment;
mod error;
mod extension;
mod extension_check;
mod file;
mod fingerprint;
mod keyring;
mod keys;
mod known_settings;
mod mode;
mod moderator;
mod paths;
mod process_environment;
mod profile;
mod project;
mod secrets;
mod serde_repr;
mod settings;
mod settings_profile;
mod settings_source;
mod unknown_keys;
mod yaml;
mod yaml_edit;
mod yaml_tree;
mod yaml_write;

pub use configured_extension::{ConfiguredExtension, MAX_ENTRIES};
pub use editor::{ConfigEditor, Switch};
pub use environment::{BaseEnvironment, Resolved, substitute};
pub use error::{ConfigError, Place};
pub use extension::{DEFAULT_TIMEOUT, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, OAuthConfig};
pub use file::{ConfigFile, MAX_CONFIG_BYTES, read_capped};
pub use goose_extension::{
    HIDDEN, is_secret_variable, looks_secret, shown_address, shown_arguments, shown_header, shown_value,
};
pub use keyring::{Keyring, KeyringSecrets};
pub use keys::ACTIVE_PROVIDER;
pub use known_settings::{PROFILE_SETTINGS, SETTINGS, Setting};
pub use mode::{Mode, UnknownMode};
pub use moderator::Moderator;
pub use paths::Paths;
pub use profile::{DEFAULT_EXTENSIONS, Missing, Profile, ProfileExtension, ProfileExtensions};
pub use project::{PROJECT_CONFIG, ProjectFile, Trust, TrustStore, is_ours, project_levels};
pub use secrets::{EnvSecrets, FileSecrets, MAX_SECRETS_BYTES, Secret, SecretChain, Secrets};
pub use serde_repr::Values;
pub use settings::{Origin, Settings};
pub use settings_source::SettingsSource;
pub use unknown_keys::{
    ANY, KnownKeys, UnknownKey, meant_setting, unknown_keys, unknown_profile_keys, yaml_position,
};
pub use yaml::{read_yaml, read_yaml_as, written_value};
