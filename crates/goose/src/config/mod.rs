//! What people configure: extensions, secrets, and where the files are.
//!
//! | where | what for |
//! | --- | --- |
//! | `settings.rs`, `source.rs`, `scalar.rs`, `lookup.rs` | the layers: defaults < user < project < environment < command line |
//! | `profile.rs`, `profile_layers.rs` | which models, extensions and limits an exchange is set up with |
//! | `project.rs`, `trust.rs` | a project's own file, which counts only after consent |
//! | `file.rs`, `outline.rs`, `entries.rs`, `yaml.rs` | `config.yaml`: read as it is, with lines in every error |
//! | `editor.rs`, `edit.rs`, `splice.rs`, `tree.rs`, `render.rs`, `save.rs` | changing it in one place, with everything else as it is, all or nothing |
//! | `extension.rs`, `wire.rs`, `check.rs`, `command_line.rs` | one extension: its type, its written form, what makes sense, the `--with-extension` form |
//! | `secrets.rs`, `secrets_file.rs`, `keyring.rs`, `keyring_program.rs`, `setting_secrets.rs` | values by name: the environment, `secrets.yaml`, `config.yaml`, the keyring |
//! | `environment.rs`, `looks_secret.rs`, `substitute.rs` | what a child process and a remote server are given |
//! | `fingerprint.rs` | the hash of what would run |
//! | `paths.rs` | goose's folders |
//!
//! Nothing here reads the environment by itself, except the constructors that say so ([`Paths::from_env`],
//! [`EnvSecrets::from_process`], [`BaseEnvironment::from_process`], [`SettingsSource::of_this_process`]); programs call
//! them.

mod check;
mod command_line;
mod edit;
mod editor;
mod entries;
mod environment;
mod error;
mod extension;
mod file;
mod fingerprint;
mod keyring;
mod keyring_program;
mod looks_secret;
mod lookup;
mod outline;
mod paths;
mod platform;
mod profile;
mod profile_layers;
mod project;
mod render;
mod save;
mod scalar;
mod secrets;
mod secrets_file;
mod setting_secrets;
mod settings;
mod source;
mod splice;
mod substitute;
mod text_file;
mod tree;
mod trust;
mod values;
mod wire;
mod yaml;

pub use editor::{ConfigEditor, Switch};
pub use entries::{ConfiguredExtension, MAX_ENTRIES};
pub use environment::{BaseEnvironment, Resolved};
pub use error::{ConfigError, Place};
pub use extension::{DEFAULT_TIMEOUT, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, OAuthConfig};
pub use file::{ConfigFile, MAX_CONFIG_BYTES};
pub use fingerprint::Fingerprint;
pub use keyring::{Keyring, KeyringSecrets};
pub use looks_secret::looks_secret;
pub use paths::Paths;
pub use profile::{DEFAULT_EXTENSIONS, Missing, Moderator, Profile, ProfileExtension};
pub use profile_layers::ACTIVE_PROVIDER;
pub use project::ProjectFile;
pub use scalar::written_value;
pub use secrets::{EnvSecrets, Secret, SecretChain, Secrets};
pub use secrets_file::{FileSecrets, MAX_SECRETS_BYTES};
pub use settings::Settings;
pub use source::{Origin, SettingsSource};
pub use substitute::substitute;
pub use trust::{Trust, TrustStore};
pub use values::Values;
