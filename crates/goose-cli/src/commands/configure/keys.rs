//! Where the key to a service is kept.

use std::{collections::BTreeMap, env};

use goose::config::{ConfigEditor, ConfigFile, FileSecrets, Keyring, Paths, Secret, Secrets as _, Settings};

use super::args::KeyStore;
use crate::aside;

/// Keeps a secret under its name; the text says where it is now.
///
/// One that is in `secrets.yaml` or `config.yaml` stays there. Else it goes where the person says, or into the keyring
/// where there is one that answers, or into `secrets.yaml`. Where a stronger place has another one, that is said.
pub(super) fn keep(
    settings: &Settings,
    name: &str,
    secret: &Secret,
    store: Option<KeyStore>,
) -> anyhow::Result<String> {
    let place = match store {
        Some(KeyStore::Keyring) => in_keyring(settings, name, secret)?,
        Some(KeyStore::File) => in_file(settings.paths(), name, secret)?,
        None => where_it_is(settings, name, secret)?,
    };
    warn_of_stronger(settings, name, secret);
    Ok(place)
}

/// Takes a secret away from everywhere but the environment; the places where it was.
pub(super) fn forget(settings: &Settings, name: &str) -> anyhow::Result<Vec<String>> {
    let mut places = Vec::new();
    // First, because it can fail.
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

fn where_it_is(settings: &Settings, name: &str, secret: &Secret) -> anyhow::Result<String> {
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
        aside::line(format_args!("{error}"));
        in_file(paths, name, secret)
    })
}

/// Says where another secret of that name is, which counts.
fn warn_of_stronger(settings: &Settings, name: &str, kept: &Secret) {
    if settings.variable(name).is_some_and(|value| value != kept.expose()) {
        aside::line(format_args!("Here the environment variable {name} counts, whatever is kept."));
        return;
    }
    let in_secrets = FileSecrets::new(settings.paths().secrets_file()).get(name).ok().flatten();
    // The settings are as they were before.
    let config = ConfigFile::load(settings.user_file().path()).ok();
    let in_config = config.and_then(|file| file.get::<String>(name).ok().flatten());
    let other = match (&in_secrets, &in_config) {
        (Some(other), _) if other != kept => settings.paths().secrets_file(),
        (None, Some(other)) if other != kept.expose() => settings.user_file().path().to_owned(),
        _ => return,
    };
    aside::line(format_args!("Another {name} is in {}, and counts; take it out there.", other.display()));
}

fn in_file(paths: &Paths, name: &str, secret: &Secret) -> anyhow::Result<String> {
    let editor = ConfigEditor::secrets(paths);
    editor.set_secret(name, secret)?;
    Ok(editor.path().display().to_string())
}

fn in_keyring(settings: &Settings, name: &str, secret: &Secret) -> anyhow::Result<String> {
    let keyring = keyring(settings).ok_or_else(|| {
        anyhow::anyhow!(
            "There is no keyring that can be asked here. Use --key-store file to keep it in secrets.yaml."
        )
    })?;
    keyring.store(name, secret)?;
    Ok("the keyring".to_owned())
}

/// The keyring, where the person wants it and it can be asked.
fn keyring(settings: &Settings) -> Option<Keyring> {
    if settings.is_keyring_disabled() {
        return None;
    }
    let environment: BTreeMap<String, String> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Keyring::of_system(&environment)
}
