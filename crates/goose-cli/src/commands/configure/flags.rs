//! `goose configure` by flags: only the named keys change.

use std::{
    env,
    io::{self, Read as _},
};

use anyhow::{Context as _, bail};
use goose::config::{ConfigEditor, ExtensionConfig, Secret, Settings, Switch};
use goose_providers::Registry;
use serde_json::json;

use super::{
    args::Changes,
    choices::{find_mode, find_provider},
    keys,
};
use crate::builtins;

/// The longest key that is read.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// The validated changes.
struct Plan {
    named: Vec<(&'static str, String)>,
    key: Option<(String, Secret)>,
    added: Vec<ExtensionConfig>,
}

/// Applies the changes and adds a line for each to `done`. Everything is validated before the first change; if one
/// fails nevertheless, `done` lists those before it.
pub(super) fn apply(
    changes: &Changes,
    editor: &ConfigEditor,
    settings: &Settings,
    registry: &Registry,
    done: &mut Vec<String>,
) -> anyhow::Result<()> {
    let plan = plan(changes, settings, registry)?;
    let values: Vec<_> = plan.named.iter().map(|(name, value)| (*name, json!(value))).collect();
    if let Some((_, provider)) = plan.named.iter().find(|(name, _)| *name == "GOOSE_PROVIDER") {
        editor.set_model(provider, None)?;
    }
    editor.set_all(&values)?;
    done.extend(plan.named.iter().map(|(name, value)| format!("{name} is {value}.")));
    if let Some((name, key)) = &plan.key {
        let place = keys::store(settings, name, key, changes.key_store)?;
        done.push(format!("Stored {name} in {place}."));
    }
    for config in &plan.added {
        editor.put_extension(config, Switch::On)?;
        done.push(format!("The extension {} is enabled.", config.key()));
    }
    for (names, switch, what) in [
        (&changes.extension_enable, Switch::On, "enabled"),
        (&changes.extension_disable, Switch::Off, "disabled"),
    ] {
        for name in names {
            let missing = builtins::find(name).map(|builtin| ExtensionConfig::builtin(builtin.name));
            editor.switch_extension(name, switch, missing.as_ref())?;
            done.push(format!("The extension {name} is {what}."));
        }
    }
    for name in &changes.extension_remove {
        let what = if editor.remove_extension(name)? { "is removed" } else { "is not configured" };
        done.push(format!("The extension {name} {what}."));
    }
    Ok(())
}

fn plan(changes: &Changes, settings: &Settings, registry: &Registry) -> anyhow::Result<Plan> {
    let provider = changes.provider.as_deref().map(|name| find_provider(registry, name)).transpose()?;
    let mode = changes.mode.as_deref().map(find_mode).transpose()?;
    let added = changes.extension_add.iter().map(|line| ExtensionConfig::from_command_line(line));
    let added: Vec<ExtensionConfig> = added.collect::<Result<_, _>>()?;
    added.iter().try_for_each(ExtensionConfig::check)?;
    for name in changes.extension_enable.iter().chain(&changes.extension_disable) {
        known_extension(name, settings, &added)?;
    }
    let key = match key(changes)? {
        Some(key) => Some((key_name(changes, settings, registry)?, key)),
        None => None,
    };
    let (present, _) = settings.configured_model()?;
    let model = match (&changes.model, provider) {
        (Some(model), _) => Some(model.clone()),
        // The previous provider's model is unknown to another one.
        (None, Some(provider)) if present.as_ref() != Some(&provider.name) => provider.default_model.clone(),
        _ => None,
    };
    let named = [
        ("GOOSE_PROVIDER", provider.map(|provider| provider.name.clone())),
        ("GOOSE_MODEL", model),
        ("GOOSE_MODE", mode.map(str::to_owned)),
    ];
    let named = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    Ok(Plan { named, key, added })
}

/// Fails unless an extension of that name exists or is about to be added.
fn known_extension(name: &str, settings: &Settings, added: &[ExtensionConfig]) -> anyhow::Result<()> {
    let is_known = settings.user_file().extensions().iter().any(|entry| entry.key == name)
        || added.iter().any(|config| config.key() == name)
        || builtins::find(name).is_some();
    if !is_known {
        bail!("There is no extension '{name}'. Add it with --extension-add. Nothing was changed.");
    }
    Ok(())
}

/// Reads the key that the flags refer to.
fn key(changes: &Changes) -> anyhow::Result<Option<Secret>> {
    let key = match (&changes.key_from_env, changes.key_stdin) {
        (Some(name), _) => {
            env::var(name).with_context(|| format!("the environment variable {name} is not set"))?
        }
        (None, true) => {
            let mut key = String::new();
            io::stdin()
                .lock()
                .take(MAX_KEY_BYTES)
                .read_to_string(&mut key)
                .context("the key cannot be read from standard input")?;
            key
        }
        (None, false) => return Ok(None),
    };
    match key.trim() {
        "" => bail!("The key is empty. Nothing was changed."),
        key if key.contains(char::is_control) => {
            bail!("The key has more than one line. Nothing was changed.")
        }
        key => Ok(Some(Secret::new(key))),
    }
}

/// Returns the variable name of the provider's key.
fn key_name(changes: &Changes, settings: &Settings, registry: &Registry) -> anyhow::Result<String> {
    let (configured, _) = settings.configured_model()?;
    let Some(provider) = changes.provider.clone().or(configured) else {
        bail!("No provider is given for the key. Add --provider. Nothing was changed.");
    };
    let provider = find_provider(registry, &provider)?;
    match provider.key_variables.first() {
        Some(name) => Ok(name.clone()),
        None => bail!("{} does not use a key. Nothing was changed.", provider.display_name),
    }
}
