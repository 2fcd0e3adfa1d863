//! `goose configure` by flags: only what is named is changed.

use std::{
    env,
    io::{self, Read as _},
};

use anyhow::{Context as _, bail};
use goose::config::{ConfigEditor, ExtensionConfig, Secret, Settings, Switch};
use serde_json::json;

use super::{args::Changes, keys, modes, services::Services};

/// The longest key that is read.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// Makes the changes; what was done, a line each. Everything is looked at before the first change.
pub(super) fn apply(
    changes: &Changes,
    editor: &ConfigEditor,
    settings: &Settings,
    services: &Services,
) -> anyhow::Result<Vec<String>> {
    let provider = changes.provider.as_deref().map(|name| services.find(name)).transpose()?;
    let mode = changes.mode.as_deref().map(modes::known).transpose()?;
    let added: Vec<ExtensionConfig> = changes
        .extension_add
        .iter()
        .map(|line| ExtensionConfig::from_command_line(line))
        .collect::<Result<_, _>>()?;
    let key = key(changes)?;
    let mut done = Vec::new();

    let present: Option<String> = settings.user_file().get("GOOSE_PROVIDER")?;
    let model = match (&changes.model, provider) {
        (Some(model), _) => Some(model.clone()),
        // Another service does not know the model of the one before.
        (None, Some(provider)) if present.as_ref() != Some(&provider.name) => provider.default_model.clone(),
        _ => None,
    };
    let named = [
        ("GOOSE_PROVIDER", provider.map(|provider| provider.name.clone())),
        ("GOOSE_MODEL", model),
        ("GOOSE_MODE", mode.map(str::to_owned)),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            editor.set(name, &json!(value))?;
            done.push(format!("{name} is {value}."));
        }
    }
    if let Some(key) = key {
        done.push(keep_key(&key, changes, settings, services)?);
    }
    for config in &added {
        editor.put_extension(config, Switch::On)?;
        done.push(format!("The extension {} is on.", config.key()));
    }
    for (names, switch, what) in
        [(&changes.extension_enable, Switch::On, "on"), (&changes.extension_disable, Switch::Off, "off")]
    {
        for name in names {
            editor.switch_extension(name, switch)?;
            done.push(format!("The extension {name} is {what}."));
        }
    }
    for name in &changes.extension_remove {
        let what = if editor.remove_extension(name)? { "is removed" } else { "was not there" };
        done.push(format!("The extension {name} {what}."));
    }
    Ok(done)
}

/// The key that the flags give.
fn key(changes: &Changes) -> anyhow::Result<Option<Secret>> {
    let key = match (&changes.key_from_env, changes.key_stdin) {
        (Some(name), _) => env::var(name).with_context(|| format!("the variable {name} has no key"))?,
        (None, true) => {
            let mut key = String::new();
            io::stdin().lock().take(MAX_KEY_BYTES).read_to_string(&mut key).context("no key came")?;
            key
        }
        (None, false) => return Ok(None),
    };
    match key.trim() {
        "" => bail!("The key is empty. Nothing was changed."),
        key if key.contains(char::is_control) => bail!("The key has several lines. Nothing was changed."),
        key => Ok(Some(Secret::new(key))),
    }
}

/// Keeps the key under the name that its service looks for.
fn keep_key(
    key: &Secret,
    changes: &Changes,
    settings: &Settings,
    services: &Services,
) -> anyhow::Result<String> {
    let configured: Option<String> = settings.get("GOOSE_PROVIDER")?;
    let Some(provider) = changes.provider.clone().or(configured) else {
        bail!("Whose key is it? Give --provider, too.");
    };
    let provider = services.find(&provider)?;
    let Some(name) = provider.key_variables.first() else {
        bail!("{} takes no key.", provider.display_name);
    };
    let place = keys::keep(settings, name, key, changes.key_store)?;
    Ok(format!("{name} is kept in {place}."))
}
