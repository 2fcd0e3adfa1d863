//! What a project's configuration would do, in full: it is what the person agrees to.

use goose::config::{ConfigFile, ExtensionConfig, ExtensionKind, OAuthConfig, ProjectFile, looks_secret};

/// What stands in the place of a value that looks like a secret.
const HIDDEN: &str = "(hidden)";

/// What the file would do, line by line. A file that cannot be parsed cannot be agreed to.
pub(super) fn deeds(file: &ProjectFile) -> anyhow::Result<Vec<String>> {
    let config: ConfigFile = file.clone().parse()?;
    let keys: Vec<&str> = config.keys().filter(|key| *key != "extensions").collect();
    let mut deeds = Vec::new();
    for key in keys {
        let value = config.get::<serde_json::Value>(key)?.unwrap_or_default();
        deeds.push(format!("It sets {key} to {value}."));
    }
    for entry in config.extensions() {
        match (&entry.config, entry.enabled) {
            (_, false) => deeds.push(format!("It switches the extension '{}' off.", entry.key)),
            (Ok(config), true) => deeds.extend(extension(&entry.key, config)),
            (Err(error), true) => deeds.push(format!("It has an extension that cannot be read: {error}.")),
        }
    }
    if deeds.is_empty() {
        deeds.push("It says nothing.".to_owned());
    }
    Ok(deeds)
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
        _ => lines.push(format!("It switches the extension '{key}' on ({}).", config.type_name())),
    }
    lines
}

/// A word of a command line; one that could be taken for several, or for none, in quotes.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'');
    if is_plain { word.to_owned() } else { format!("{word:?}") }
}

fn shown<'v>(name: &str, value: &'v str) -> &'v str {
    if looks_secret(name) { HIDDEN } else { value }
}

/// What a header takes from the person is shown in any case: it is what the server is told.
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
