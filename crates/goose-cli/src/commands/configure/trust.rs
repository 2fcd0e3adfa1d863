//! `goose configure trust` and `distrust`: the configuration of this project.

use std::{env, process::ExitCode};

use anyhow::{Context as _, bail};
use goose::config::{ConfigFile, ExtensionConfig, ExtensionKind, Paths, ProjectFile, Trust, TrustStore};

use super::{
    asking::{Asking as _, Terminal},
    keyed::say,
};
use crate::{aside, settings::judged, visible};

/// Trusts the project's file as it is now. The person is shown what it would do, and asked.
pub(super) fn trust(paths: &Paths, yes: bool) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder cannot be found")?;
    let Some((file, trust)) = judged(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let path = file.path().display().to_string();
    if trust == Trust::Trusted {
        return say(&format!("{path} is trusted already."));
    }
    for line in deeds(&file)? {
        aside::line(visible::line(&line));
    }
    if !yes && !aside::can_ask() {
        bail!("Nobody can be asked here. Look at the file, then run this with --yes.");
    }
    if !yes && !Terminal.agrees(&format!("Trust {} as it is now?", visible::line(&path)))? {
        return say("It is not trusted.");
    }
    TrustStore::new(paths).trust(&file)?;
    say(&format!("{path} is trusted as it is now. When it changes, you are asked again."))
}

/// No longer trusts the project's file.
pub(super) fn distrust(paths: &Paths) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder cannot be found")?;
    let Some((file, _)) = judged(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let was = TrustStore::new(paths).forget(file.path())?;
    let what = if was { "is no longer trusted" } else { "was not trusted" };
    say(&format!("{} {what}.", file.path().display()))
}

/// What the file would do, a line each. A file that cannot be parsed cannot be agreed to.
fn deeds(file: &ProjectFile) -> anyhow::Result<Vec<String>> {
    let config: ConfigFile = file.clone().parse()?;
    let keys: Vec<&str> = config.keys().filter(|key| *key != "extensions").collect();
    let mut deeds = Vec::new();
    for key in keys {
        let value = config.get::<serde_json::Value>(key)?.unwrap_or_default();
        deeds.push(format!("It sets {key} to {value}."));
    }
    for entry in config.extensions() {
        deeds.push(match (&entry.config, entry.enabled) {
            (_, false) => format!("It switches the extension '{}' off.", entry.key),
            (Ok(config), true) => extension(&entry.key, config),
            (Err(error), true) => format!("It has an extension that cannot be read: {error}."),
        });
    }
    if deeds.is_empty() {
        deeds.push("It says nothing.".to_owned());
    }
    Ok(deeds)
}

fn extension(key: &str, config: &ExtensionConfig) -> String {
    match &config.kind {
        ExtensionKind::Stdio { cmd, args, envs, env_keys } => {
            let names: Vec<&str> = envs.keys().chain(env_keys).map(String::as_str).collect();
            let with = if names.is_empty() { String::new() } else { format!(", with {}", names.join(", ")) };
            format!("It starts '{cmd} {}' as the extension '{key}'{with}.", args.join(" "))
        }
        ExtensionKind::StreamableHttp { uri, env_keys, .. } => {
            let with =
                if env_keys.is_empty() { String::new() } else { format!(", with {}", env_keys.join(", ")) };
            format!("It connects to {uri} as the extension '{key}'{with}.")
        }
        ExtensionKind::InlinePython { code, .. } => {
            format!("It runs a Python program of {} lines as the extension '{key}'.", code.lines().count())
        }
        _ => format!("It switches the extension '{key}' on ({}).", config.type_name()),
    }
}
