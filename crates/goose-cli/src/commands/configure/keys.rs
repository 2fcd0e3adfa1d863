//! Where the key to a service is kept.

use std::{collections::BTreeMap, env};

use goose::config::{ConfigEditor, FileSecrets, Keyring, Paths, Secret, Secrets as _, Settings};

use super::args::KeyStore;
use crate::aside;

/// Keeps a secret under its name; the text says where it is now.
///
/// One that is in `secrets.yaml` stays there. Else it goes where the person says, or into the keyring where there is
/// one that answers, or into `secrets.yaml`.
pub(super) fn keep(
    settings: &Settings,
    name: &str,
    secret: &Secret,
    store: Option<KeyStore>,
) -> anyhow::Result<String> {
    let paths = settings.paths();
    let store = match store {
        Some(store) => store,
        None if FileSecrets::new(paths.secrets_file()).get(name)?.is_some() => KeyStore::File,
        None if keyring(settings).is_none() => KeyStore::File,
        None => match in_keyring(settings, name, secret) {
            Ok(place) => return Ok(place),
            Err(error) => {
                aside::line(format_args!("{error}"));
                KeyStore::File
            }
        },
    };
    match store {
        KeyStore::Keyring => in_keyring(settings, name, secret),
        KeyStore::File => in_file(paths, name, secret),
    }
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
