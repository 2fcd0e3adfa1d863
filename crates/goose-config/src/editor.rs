//! [`ConfigEditor`]: edits of `config.yaml` and `secrets.yaml`. [`update`] replaces a file as a whole or not
//! at all.
//!
//! A lock of the folder keeps two goose processes from overwriting each other's changes. A program that takes
//! no lock, such as an editor, is detected: the file is compared again right before it is replaced, and if it
//! differs, the change is repeated on the new text. The new text is written beside the file and synced before
//! the rename, so a crash leaves either the old file or the new one.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::{AtomicFile, Draft, FileLock, create_private_dir, sync_dir};
use serde_json::{Map, Value, json};

use crate::{
    ConfigError, ExtensionConfig, MAX_CONFIG_BYTES, MAX_SECRETS_BYTES, Paths, Place, Secret,
    file::read_capped,
    keys::{ACTIVE_PROVIDER, EXTENSIONS, MODEL, PROVIDER},
    serde_repr::FIELDS,
    yaml_edit::{self, EditError},
};

/// State of an extension in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// The extension is used.
    On,
    /// The extension is not used.
    Off,
}

/// Editor of one file of the user. An edit changes one place and keeps every other line (comments, order,
/// quotes, line ends). The file is never left half written, and two processes can edit it at the same time. A
/// file that cannot be parsed is an error and is not changed.
///
/// Each edit returns whether the file has changed.
#[derive(Debug, Clone)]
pub struct ConfigEditor {
    path: PathBuf,
    limit: u64,
    audience: Audience,
}

impl ConfigEditor {
    /// Returns an editor of a configuration, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), limit: MAX_CONFIG_BYTES, audience: Audience::AsBefore }
    }

    /// Returns an editor of the user's secrets, which only the owner may read.
    pub fn secrets(paths: &Paths) -> Self {
        Self { path: paths.secrets_file(), limit: MAX_SECRETS_BYTES, audience: Audience::Owner }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a top-level key.
    pub fn set(&self, key: &str, value: &Value) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::set(text, &[key], value))
    }

    /// Sets the provider and, if given, the model. Removes `active_provider`, which goose 1.52 writes and
    /// which would take precedence.
    pub fn set_model(&self, provider: &str, model: Option<&str>) -> Result<bool, ConfigError> {
        self.edit(|text| {
            let text = yaml_edit::remove(text, &[ACTIVE_PROVIDER])?;
            let text = yaml_edit::set(&text, &[PROVIDER], &json!(provider))?;
            model.map_or(Ok(text.clone()), |model| yaml_edit::set(&text, &[MODEL], &json!(model)))
        })
    }

    /// Sets several top-level keys, all or none.
    pub fn set_all(&self, values: &[(&str, Value)]) -> Result<bool, ConfigError> {
        self.edit(|text| {
            values
                .iter()
                .try_fold(text.to_owned(), |text, (key, value)| yaml_edit::set(&text, &[*key], value))
        })
    }

    /// Sets a top-level key to a secret.
    pub fn set_secret(&self, key: &str, value: &Secret) -> Result<bool, ConfigError> {
        self.set(key, &Value::String(value.expose().to_owned()))
    }

    /// Removes a top-level key.
    pub fn unset(&self, key: &str) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::remove(text, &[key]))
    }

    /// Adds an extension under its key, or changes the existing entry.
    pub fn put_extension(&self, config: &ExtensionConfig, switch: Switch) -> Result<bool, ConfigError> {
        config.check()?;
        let entry = entry(config, switch)?;
        let key = config.key();
        self.edit(|text| {
            let path = [EXTENSIONS, key.as_str()];
            yaml_edit::set(text, &path, &with_unknown(yaml_edit::mapping(text, &path)?, entry.clone()))
        })
    }

    /// Removes an extension.
    pub fn remove_extension(&self, key: &str) -> Result<bool, ConfigError> {
        self.edit(|text| yaml_edit::remove(text, &[EXTENSIONS, key]))
    }

    /// Switches an extension on or off. If it has no entry, `missing` is added; without `missing`, that is an
    /// error.
    pub fn switch_extension(
        &self,
        key: &str,
        switch: Switch,
        missing: Option<&ExtensionConfig>,
    ) -> Result<bool, ConfigError> {
        let is_on = switch == Switch::On;
        let added = missing.map(|config| entry(config, switch)).transpose()?;
        self.edit(|text| {
            if yaml_edit::mapping(text, &[EXTENSIONS, key])?.is_some() {
                return yaml_edit::set(text, &[EXTENSIONS, key, "enabled"], &json!(is_on));
            }
            let Some(added) = &added else {
                return Err(EditError::Refused(format!(
                    "there is no extension '{key}' under '{EXTENSIONS}:'; add it first"
                )));
            };
            yaml_edit::set(text, &[EXTENSIONS, key], added)
        })
    }

    fn edit(&self, mut change: impl FnMut(&str) -> Result<String, EditError>) -> Result<bool, ConfigError> {
        update(&self.path, self.limit, self.audience, |text| change(text).map_err(|error| self.failed(error)))
    }

    fn failed(&self, error: EditError) -> ConfigError {
        match error {
            EditError::Malformed(position, message) => ConfigError::malformed(
                Place::new(&self.path, position),
                format!("{message}; the file is left as it is, repair it first"),
            ),
            EditError::Refused(reason) => ConfigError::unwritable(&self.path, reason),
        }
    }
}

/// Adds the fields of the old entry that this version does not know.
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

/// Maximum wait for another process. One edit takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of attempts if another program changes the file meanwhile.
const MAX_ROUNDS: u32 = 5;

/// Suffix of new files, before they take the name of the old one.
const UNFINISHED: &str = ".goose-new";

/// Readers of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Only the owner, whatever the mode was before.
    Owner,
    /// As before; only the owner for a new file.
    AsBefore,
}

/// Steps of a save, at which tests end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaveStep {
    Locked,
    Created,
    Written,
    Synced,
    Compared,
    Renamed,
}

/// Replaces the text of a file with the result of `change`, which is called again if the file changes
/// meanwhile. A missing file is empty. Returns whether the file has changed.
pub(crate) fn update(
    path: &Path,
    limit: u64,
    audience: Audience,
    change: impl FnMut(&str) -> Result<String, ConfigError>,
) -> Result<bool, ConfigError> {
    update_watched(path, limit, audience, change, |_| {})
}

/// Does the same, and reports each step to `watch`.
pub(crate) fn update_watched(
    path: &Path,
    limit: u64,
    audience: Audience,
    mut change: impl FnMut(&str) -> Result<String, ConfigError>,
    mut watch: impl FnMut(SaveStep),
) -> Result<bool, ConfigError> {
    let failed = |reason: io::Error| ConfigError::unwritable(path, reason);
    let target = resolved(path).map_err(failed)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_private_dir(folder).map_err(failed)?;
    let _lock = locked(folder).map_err(failed)?;
    watch(SaveStep::Locked);
    sweep(folder);
    for _ in 0..MAX_ROUNDS {
        let before = read_capped(&target, limit)?;
        let after = change(before.as_deref().unwrap_or_default())?;
        if before.as_deref().unwrap_or_default() == after {
            return Ok(false);
        }
        if after.len() as u64 > limit {
            let reason = format!("it would be larger than {limit} bytes; remove something first");
            return Err(ConfigError::unwritable(path, reason));
        }
        let draft = write_draft(&target, audience, after.as_bytes(), &mut watch).map_err(failed)?;
        if read_capped(&target, limit)? == before {
            watch(SaveStep::Compared);
            draft.commit().map_err(failed)?;
            watch(SaveStep::Renamed);
            // A folder that cannot be synced does no harm: the file is complete either way.
            let _ = sync_dir(folder);
            return Ok(true);
        }
    }
    Err(ConfigError::unwritable(path, "another program keeps changing it; close it and try again"))
}

/// Resolves links, so that a link stays a link. A dangling link is an error.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

/// Writes the new text beside the target, complete and flushed to the disk.
fn write_draft(
    target: &Path,
    audience: Audience,
    text: &[u8],
    watch: &mut impl FnMut(SaveStep),
) -> io::Result<Draft> {
    let existing = match fs::metadata(target) {
        Ok(existing) if existing.permissions().readonly() => {
            return Err(io::Error::other("it is write-protected; make it writable first"));
        }
        Ok(existing) => Some(existing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let options = AtomicFile::new(target).temporary_name(".", UNFINISHED);
    let mut draft = options.create()?;
    watch(SaveStep::Created);
    draft.write_all(text)?;
    watch(SaveStep::Written);
    if let Some(existing) = existing.filter(|_| audience == Audience::AsBefore) {
        draft.file().set_permissions(existing.permissions())?;
    }
    draft.file().sync_all()?;
    watch(SaveStep::Synced);
    Ok(draft)
}

/// Removes files that killed saves left behind. The lock is held, so no other process is saving.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(UNFINISHED) {
            // A file that stays only takes up space.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn locked(folder: &Path) -> io::Result<FileLock> {
    FileLock::wait(File::open(folder)?, LOCK_TIMEOUT).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            io::Error::other("another goose has kept its folder locked for 5 seconds; try again in a moment")
        }
        _ => error,
    })
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
