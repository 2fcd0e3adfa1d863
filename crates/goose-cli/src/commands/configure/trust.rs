//! `goose configure trust` and `distrust`: consent to this project's files, after showing what they would do.

use std::{env, process::ExitCode};

use anyhow::{Context as _, bail, ensure};
use goose::{
    config::{
        ConfigFile, ExtensionConfig, ExtensionKind, HIDDEN, OAuthConfig, Paths, ProjectFile, Trust,
        TrustStore, looks_secret,
    },
    project_files::{self, ProjectFileKind},
};

use super::asking::agrees;
use crate::{
    escape,
    output::{NAME, say},
    stderr,
};

/// Trusts the project's files in their current form, after showing them and asking.
pub(super) fn trust(paths: &Paths, yes: bool) -> anyhow::Result<ExitCode> {
    let store = TrustStore::new(paths);
    let mut pending = Vec::new();
    for (kind, file) in project_files()? {
        if store.check(&file)? != Trust::Trusted {
            pending.push((kind, file));
        }
    }
    if pending.is_empty() {
        return say("All files of this project are already trusted.");
    }
    for (kind, file) in &pending {
        show(*kind, file)?;
    }
    if !yes && !stderr::can_ask() {
        bail!(
            "There is no terminal to ask for confirmation. Review the files, then run this again with --yes."
        );
    }
    for (_, file) in &pending {
        let path = file.path().display().to_string();
        if !yes && !agrees(&format!("Trust {} in its current form?", escape::line(&path)))? {
            say(&format!("{path} was not trusted."))?;
            continue;
        }
        store.trust(file)?;
        say(&format!("Trusted {path}. goose asks again when it changes."))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops trusting the project's files.
pub(super) fn distrust(paths: &Paths) -> anyhow::Result<ExitCode> {
    let store = TrustStore::new(paths);
    for (_, file) in project_files()? {
        let what = if store.forget(file.path())? { "is no longer trusted" } else { "was not trusted" };
        say(&format!("{} {what}.", file.path().display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The files of this project that count only where they are trusted.
fn project_files() -> anyhow::Result<Vec<(ProjectFileKind, ProjectFile)>> {
    let folder = env::current_dir().context("the working folder does not exist")?;
    let files = project_files::find(&folder)?;
    ensure!(
        !files.is_empty(),
        "This project has nothing to trust: no .goose/config.yaml, no agents, skills, recipes or hooks."
    );
    Ok(files)
}

/// Shows what the user consents to: the effects of a configuration, and the whole text that the model would read.
fn show(kind: ProjectFileKind, file: &ProjectFile) -> anyhow::Result<()> {
    let path = file.path().display().to_string();
    let (what, lines) = match kind {
        ProjectFileKind::Configuration => ("configuration", project_effects(file)?),
        ProjectFileKind::Agent => ("an agent", text_lines(file)),
        ProjectFileKind::Skill => ("a skill", text_lines(file)),
        ProjectFileKind::Recipe => ("a recipe", text_lines(file)),
        ProjectFileKind::Hooks => ("hooks: commands that goose runs", text_lines(file)),
        _ => ("a file", text_lines(file)),
    };
    stderr::line(format_args!("{NAME}{}{NAME:#} ({what}):", escape::line(&path)));
    for line in lines {
        stderr::line(escape::line(&line));
    }
    Ok(())
}

fn text_lines(file: &ProjectFile) -> Vec<String> {
    file.text().lines().map(|line| format!("  | {line}")).collect()
}

/// Describes everything that the file would do, line by line: this is what the user consents to. Command lines and
/// addresses are shown in full, because what is left out here could be what does the harm; they are the project's, not
/// the user's.
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
