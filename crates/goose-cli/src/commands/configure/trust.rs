//! `goose configure trust` and `distrust`: consent to this project's configuration, after showing what it would do.

use std::{env, process::ExitCode};

use anyhow::{Context as _, bail};
use goose::config::{
    ConfigFile, ExtensionConfig, ExtensionKind, HIDDEN, OAuthConfig, Paths, ProjectFile, Trust, TrustStore,
    looks_secret,
};

use super::{
    asking::{Asking as _, Terminal},
    set_get::say,
};
use crate::{escape, settings::find_project, stderr};

/// Trusts the project's file in its current form, after showing its effects and asking.
pub(super) fn trust(paths: &Paths, yes: bool) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder does not exist")?;
    let Some((file, trust)) = find_project(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let path = file.path().display().to_string();
    if trust == Trust::Trusted {
        return say(&format!("{path} is already trusted."));
    }
    for line in project_effects(&file)? {
        stderr::line(escape::line(&line));
    }
    if !yes && !stderr::can_ask() {
        bail!(
            "There is no terminal to ask for confirmation. Review the file, then run this again with --yes."
        );
    }
    if !yes && !Terminal.agrees(&format!("Trust {} in its current form?", escape::line(&path)))? {
        return say("The file was not trusted.");
    }
    TrustStore::new(paths).trust(&file)?;
    say(&format!("Trusted {path}. goose asks again when it changes."))
}

/// Stops trusting the project's file.
pub(super) fn distrust(paths: &Paths) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder does not exist")?;
    let Some((file, _)) = find_project(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let was = TrustStore::new(paths).forget(file.path())?;
    let what = if was { "is no longer trusted" } else { "was not trusted" };
    say(&format!("{} {what}.", file.path().display()))
}

/// Describes everything that the file would do, line by line: this is what the user consents to. Command lines and addresses
/// are shown in full, because what is left out here could be what does the harm; they are the project's, not the user's.
///
/// # Errors
///
/// Fails if the file cannot be parsed, because then it cannot be trusted either.
fn project_effects(file: &ProjectFile) -> anyhow::Result<Vec<String>> {
    let config: ConfigFile = file.clone().parse()?;
    let keys: Vec<&str> = config.keys().filter(|key| *key != "extensions").collect();
    let mut effects = Vec::new();
    for key in keys {
        let value = config.get::<serde_json::Value>(key)?.unwrap_or_default();
        effects.push(format!("It sets {key} to {value}."));
    }
    for entry in config.extensions() {
        match (&entry.config, entry.enabled) {
            (_, false) => effects.push(format!("It disables the extension '{}'.", entry.key)),
            (Ok(config), true) => effects.extend(extension(&entry.key, config)),
            (Err(error), true) => effects.push(format!("It has an extension that cannot be read: {error}.")),
        }
    }
    if effects.is_empty() {
        effects.push("It contains no settings.".to_owned());
    }
    Ok(effects)
}

fn extension(key: &str, config: &ExtensionConfig) -> Vec<String> {
    let mut lines = Vec::new();
    match &config.kind {
        ExtensionKind::Stdio { cmd, args, envs, env_keys } => {
            let words: Vec<String> = std::iter::once(cmd).chain(args).map(|word| quoted(word)).collect();
            lines.push(format!("It starts '{}' as the extension '{key}'.", words.join(" ")));
            lines.extend(envs.iter().map(|(name, value)| format!("  with {name}={}", shown(name, value))));
            lines.extend(env_keys.iter().map(|name| format!("  with your {name}")));
        }
        ExtensionKind::StreamableHttp { uri, headers, envs, env_keys, oauth } => {
            lines.push(format!("It connects to {uri} as the extension '{key}'."));
            lines.extend(
                headers
                    .iter()
                    .map(|(name, value)| format!("  with the header {name}: {}", header(name, value))),
            );
            lines
                .extend(envs.iter().map(|(name, value)| format!("  where {name} is {}", shown(name, value))));
            lines.extend(env_keys.iter().map(|name| format!("  with your {name}")));
            lines.extend(oauth.as_ref().map(sign_in));
        }
        ExtensionKind::InlinePython { code, dependencies } => {
            let packages = match dependencies.as_slice() {
                [] => String::new(),
                some => format!(" with the packages {}", some.join(", ")),
            };
            lines.push(format!("It runs this Python program{packages} as the extension '{key}':"));
            lines.extend(code.lines().map(|line| format!("  | {line}")));
        }
        _ => lines.push(format!("It enables the extension '{key}' ({}).", config.type_name())),
    }
    lines
}

/// Quotes a word of a command line if it is empty or could be read as several.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    if is_plain { word.to_owned() } else { format!("{word:?}") }
}

fn shown<'v>(name: &str, value: &'v str) -> &'v str {
    if looks_secret(name) { HIDDEN } else { value }
}

/// Hides literal secrets. Variables are always shown, because the server receives their values.
fn header<'v>(name: &str, value: &'v str) -> &'v str {
    let is_secret = looks_secret(name) || name.eq_ignore_ascii_case("authorization");
    if is_secret && !value.contains('$') { HIDDEN } else { value }
}

fn sign_in(oauth: &OAuthConfig) -> String {
    let mut words = vec!["  signing in".to_owned()];
    words.extend(oauth.issuer.as_ref().map(|issuer| format!("at {issuer}")));
    words.extend(oauth.client_id.as_ref().map(|id| format!("as {id}")));
    words.extend(oauth.client_secret_key.as_ref().map(|name| format!("with your {name}")));
    if !oauth.scopes.is_empty() {
        words.push(format!("for {}", oauth.scopes.join(", ")));
    }
    words.join(" ")
}
