//! The configuration: settings in layers, extensions, secrets, folders.
//!
//! | where | what for |
//! | --- | --- |
//! | `settings.rs`, `source.rs` | the layers: defaults < user < project < environment < command line |
//! | `profile.rs`, `profile_layers.rs` | the models, extensions and limits of an exchange |
//! | `project.rs`, `trust.rs` | a project's own file, used only after consent |
//! | `file.rs`, `entries.rs`, `yaml.rs`, `yaml_tree.rs` | `config.yaml`, read as it is, with lines in every error |
//! | `editor.rs`, `yaml_edit.rs`, `save.rs` | edits that keep everything else as it is, all or nothing |
//! | `extension.rs`, `serde_repr.rs`, `command_line.rs`, `platform.rs` | one extension: its type, its written form, its checks, the `--with-extension` form, entries of other versions |
//! | `secrets.rs`, `keyring.rs` | values by name: the environment, `secrets.yaml`, `config.yaml`, the keyring |
//! | `environment.rs` | the environment of a child process, the headers of a remote server |
//! | `fingerprint.rs` | the hash of what would run |
//! | `paths.rs` | goose's folders |
//!
//! Nothing here reads the environment by itself, except the constructors that say so ([`Paths::from_env`],
//! [`EnvSecrets::from_process`], [`BaseEnvironment::from_process`], [`SettingsSource::of_this_process`]); programs call
//! them.

mod command_line;
mod editor;
mod entries;
mod environment;
mod error;
mod extension;
mod file;
mod fingerprint;
mod keyring;
mod paths;
mod platform;
mod profile;
mod profile_layers;
mod project;
mod save;
mod secrets;
mod serde_repr;
mod settings;
mod source;
mod trust;
mod yaml;
mod yaml_edit;
mod yaml_tree;

pub use editor::{ConfigEditor, Switch};
pub use entries::{ConfiguredExtension, MAX_ENTRIES};
pub use environment::substitute;
pub use environment::{BaseEnvironment, Resolved};
pub use error::{ConfigError, Place};
pub use extension::{DEFAULT_TIMEOUT, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, OAuthConfig};
pub(crate) use file::read_capped;
pub use file::{ConfigFile, MAX_CONFIG_BYTES};
pub use fingerprint::Fingerprint;
pub use goose_extension::{
    HIDDEN, is_secret_variable, looks_secret, shown_address, shown_arguments, shown_header, shown_value,
};
pub use keyring::{Keyring, KeyringSecrets};
pub use paths::Paths;
pub use profile::{DEFAULT_EXTENSIONS, Missing, Moderator, Profile, ProfileExtension};
pub use profile_layers::ACTIVE_PROVIDER;
pub use project::ProjectFile;
pub(crate) use project::{is_ours, levels as project_levels};
pub use secrets::{EnvSecrets, FileSecrets, MAX_SECRETS_BYTES, Secret, SecretChain, Secrets};
pub use serde_repr::Values;
pub use settings::Settings;
pub use source::{Origin, SettingsSource};
pub use trust::{Trust, TrustStore};
pub(crate) use yaml::read_yaml;
pub use yaml::written_value;
