//! Storage of API keys and other secrets.

use goose::config::{ConfigEditor, ConfigFile, FileSecrets, Keyring, Paths, Secret, Secrets as _, Settings};

use super::args::KeyStore;
use crate::stderr;

/// Stores a secret and returns the place.
///
/// A secret that is already in `secrets.yaml` or `config.yaml` stays there. Otherwise it goes to the requested store,
/// or to the keyring if one is available, else to `secrets.yaml`. Warns if another source takes precedence.
pub(super) fn store(
    settings: &Settings,
    name: &str,
    secret: &Secret,
    store: Option<KeyStore>,
) -> anyhow::Result<String> {
    let place = match store {
        Some(KeyStore::Keyring) => in_keyring(settings, name, secret)?,
        Some(KeyStore::File) => in_file(settings.paths(), name, secret)?,
        None => in_default_place(settings, name, secret)?,
    };
    warn_if_overridden(settings, name, secret);
    Ok(place)
}

/// Removes a secret from every place but the environment, and returns those places.
pub(super) fn forget(settings: &Settings, name: &str) -> anyhow::Result<Vec<String>> {
    let mut places = Vec::new();
    // First, because only the keyring is likely to fail.
    if let Some(keyring) = keyring(settings)
        && keyring.remove(name)?
    {
        places.push("the keyring".to_owned());
    }
    let editor = ConfigEditor::secrets(settings.paths());
    if editor.path().exists() && editor.unset(name)? {
        places.push(editor.path().display().to_string());
    }
    Ok(places)
}

fn in_default_place(settings: &Settings, name: &str, secret: &Secret) -> anyhow::Result<String> {
    let paths = settings.paths();
    if FileSecrets::new(paths.secrets_file()).get(name)?.is_some() {
        return in_file(paths, name, secret);
    }
    let config = settings.user_file();
    if config.place(name).is_some() {
        let editor = ConfigEditor::new(config.path());
        editor.set_secret(name, secret)?;
        return Ok(editor.path().display().to_string());
    }
    if keyring(settings).is_none() {
        return in_file(paths, name, secret);
    }
    in_keyring(settings, name, secret).or_else(|error| {
        stderr::line(format_args!("{error}"));
        in_file(paths, name, secret)
    })
}

/// Warns about another secret of that name that takes precedence.
fn warn_if_overridden(settings: &Settings, name: &str, kept: &Secret) {
    if settings.variable(name).is_some_and(|value| value != kept.expose()) {
        stderr::line(format_args!("The environment variable {name} overrides the stored value here."));
        return;
    }
    let in_secrets = FileSecrets::new(settings.paths().secrets_file()).get(name).ok().flatten();
    // `settings` were loaded before the change.
    let config = ConfigFile::load(settings.user_file().path()).ok();
    let in_config = config.and_then(|file| file.get::<String>(name).ok().flatten());
    let other = match (&in_secrets, &in_config) {
        (Some(other), _) if other != kept => settings.paths().secrets_file(),
        (None, Some(other)) if other != kept.expose() => settings.user_file().path().to_owned(),
        _ => return,
    };
    stderr::line(format_args!(
        "{} contains another {name}, which takes precedence; remove it there.",
        other.display()
    ));
}

fn in_file(paths: &Paths, name: &str, secret: &Secret) -> anyhow::Result<String> {
    let editor = ConfigEditor::secrets(paths);
    editor.set_secret(name, secret)?;
    Ok(editor.path().display().to_string())
}

fn in_keyring(settings: &Settings, name: &str, secret: &Secret) -> anyhow::Result<String> {
    let keyring = keyring(settings).ok_or_else(|| {
        anyhow::anyhow!(
            "No keyring is available here. Use --key-store file to store the key in secrets.yaml."
        )
    })?;
    keyring.store(name, secret)?;
    Ok("the keyring".to_owned())
}

/// Returns the system's keyring, unless it is disabled or missing.
fn keyring(settings: &Settings) -> Option<Keyring> {
    if settings.is_keyring_disabled() {
        return None;
    }
    Keyring::of_this_process()
}
