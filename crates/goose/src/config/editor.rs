//! [`ConfigEditor`]: the one way to change `config.yaml` and `secrets.yaml`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{
    ACTIVE_PROVIDER, ConfigError, ExtensionConfig, MAX_CONFIG_BYTES, MAX_SECRETS_BYTES, Paths, Place, Secret,
    save::{self, Audience},
    serde_repr::FIELDS,
    yaml_edit::{self, EditError},
};

/// The key of the mapping with extensions.
const EXTENSIONS: &str = "extensions";

/// Whether an extension is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Changes a file of the user: in one place, with every other line as it is (comments, order, quotes, line ends). The
/// file is replaced as a whole, never left half written; two processes can change it at the same time. A file that
/// cannot be parsed is an error, and stays as it is.
///
/// Each change tells whether the file is another one now.
#[derive(Debug, Clone)]
pub struct ConfigEditor {
    path: PathBuf,
    limit: u64,
    audience: Audience,
}

impl ConfigEditor {
    /// A configuration, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), limit: MAX_CONFIG_BYTES, audience: Audience::AsBefore }
    }

    /// The file with the user's secrets, which nobody else may read.
    pub fn secrets(paths: &Paths) -> Self {
        Self { path: paths.secrets_file(), limit: MAX_SECRETS_BYTES, audience: Audience::Owner }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a top-level key.
    pub fn set(&self, key: &str, value: &Value) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::set(text, &[key], value))
    }

    /// Sets the provider and, if given, the model. `active_provider`, which goose 1.52 writes and which would take
    /// precedence, is removed.
    pub fn set_model(&self, provider: &str, model: Option<&str>) -> Result<bool, ConfigError> {
        self.edit(|text| {
            let text = yaml_edit::remove(text, &[ACTIVE_PROVIDER])?;
            let text = yaml_edit::set(&text, &["GOOSE_PROVIDER"], &json!(provider))?;
            model.map_or(Ok(text.clone()), |model| yaml_edit::set(&text, &["GOOSE_MODEL"], &json!(model)))
        })
    }

    /// Sets several top-level keys, all of them or none.
    pub fn set_all(&self, values: &[(&str, Value)]) -> Result<bool, ConfigError> {
        self.edit(|text| {
            values
                .iter()
                .try_fold(text.to_owned(), |text, (key, value)| yaml_edit::set(&text, &[*key], value))
        })
    }

    /// Sets a top-level key to a value that must not be seen.
    pub fn set_secret(&self, key: &str, value: &Secret) -> Result<bool, ConfigError> {
        self.set(key, &Value::String(value.expose().to_owned()))
    }

    /// Takes a top-level key away.
    pub fn unset(&self, key: &str) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::remove(text, &[key]))
    }

    /// Adds an extension under its key, or changes the one that is there.
    pub fn put_extension(&self, config: &ExtensionConfig, switch: Switch) -> Result<bool, ConfigError> {
        config.check()?;
        let entry = entry(config, switch)?;
        let key = config.key();
        self.edit(|text| {
            let path = [EXTENSIONS, key.as_str()];
            yaml_edit::set(text, &path, &with_unknown(yaml_edit::mapping(text, &path)?, entry.clone()))
        })
    }

    /// Takes an extension away.
    pub fn remove_extension(&self, key: &str) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::remove(text, &[EXTENSIONS, key]))
    }

    /// Switches an extension on or off. One that is not there is an error, unless it comes with goose: then it is
    /// added.
    pub fn switch_extension(&self, key: &str, switch: Switch) -> Result<bool, ConfigError> {
        let is_on = switch == Switch::On;
        let builtin = crate::builtins::find(key);
        let added = entry(&ExtensionConfig::builtin(key), switch)?;
        self.edit(|text| {
            if yaml_edit::mapping(text, &[EXTENSIONS, key])?.is_some() {
                return yaml_edit::set(text, &[EXTENSIONS, key, "enabled"], &json!(is_on));
            }
            if builtin.is_none() {
                return Err(EditError::Refused(format!(
                    "there is no extension '{key}' under '{EXTENSIONS}:'; add it first"
                )));
            }
            yaml_edit::set(text, &[EXTENSIONS, key], &added)
        })
    }

    fn edit(&self, mut change: impl FnMut(&str) -> Result<String, EditError>) -> Result<bool, ConfigError> {
        save::update(&self.path, self.limit, self.audience, |text| {
            change(text).map_err(|error| self.failed(error))
        })
    }

    fn failed(&self, error: EditError) -> ConfigError {
        match error {
            EditError::Malformed(position, message) => ConfigError::malformed(
                Place::new(&self.path, position),
                format!("{message}; the file is left as it is, repair it first"),
            ),
            EditError::Refused(reason) => ConfigError::Unwritable { path: self.path.clone(), reason },
        }
    }
}

/// An entry that keeps what was there and is nothing of ours.
fn with_unknown(old: Option<Map<String, Value>>, mut entry: Value) -> Value {
    if let Value::Object(entries) = &mut entry {
        let unknown = old.into_iter().flatten().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
        entries.extend(unknown);
    }
    entry
}

fn entry(config: &ExtensionConfig, switch: Switch) -> Result<Value, ConfigError> {
    let mut value = serde_json::to_value(config)
        .map_err(|error| ConfigError::extension(config.name(), error.to_string()))?;
    if let Value::Object(entries) = &mut value {
        entries.retain(|key, value| key != "description" || value != "");
        entries.insert("enabled".to_owned(), json!(switch == Switch::On));
    }
    Ok(value)
}
