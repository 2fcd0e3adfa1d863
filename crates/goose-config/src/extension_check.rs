//! [`ExtensionConfig::check`]: finds configurations that cannot work, before anything is started.

use goose_extension::shown_address;
use serde_json::Value;
use url::Url;

use crate::{
    ConfigError,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
    serde_repr::Values,
};

/// Reason why an extension cannot be started. The message says what to change, and shows no values.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Flaw {
    #[error("its name is empty; add 'name: …'")]
    EmptyName,
    #[error("its name has no letter a–z or digit, which its tools' names need; choose another")]
    UnusableName,
    #[error("a timeout of 0 leaves no time for any call; give seconds, or leave it out")]
    ZeroTimeout,
    #[error("'cmd' is empty; put the program to start there")]
    EmptyCommand,
    #[error("'code' is empty; put the Python program there")]
    EmptyCode,
    #[error("a text in '{field}' contains a NUL character, which no program accepts; remove it")]
    Nul { field: &'static str },
    #[error("'{}' in '{field}' is not a variable name", name.escape_debug())]
    VariableName { field: &'static str, name: String },
    #[error("'uri' is not an address ({0}); give an address like https://example.com/mcp")]
    Uri(#[from] url::ParseError),
    #[error(
        "'uri' begins with '{scheme}:', and only http and https can be reached; \
         give an address like https://example.com/mcp"
    )]
    UriScheme { scheme: String },
    #[error("'{}' is not a header name; use letters, digits and '-'", name.escape_debug())]
    HeaderName { name: String },
    #[error("the value of the header '{name}' contains a line break or control character; remove it")]
    HeaderValue { name: String },
    #[error("'oauth' has a client_secret_key but no client_id; add 'client_id: …'")]
    SecretWithoutClient,
    #[error("tool {number} in 'tools' has no name; add 'name: …'")]
    UnnamedTool { number: usize },
    #[error(
        "the type 'sse' is no longer supported; change it to 'type: streamable_http' and 'uri' to the \
         server's streamable HTTP address (often {uri} with /mcp in place of /sse)"
    )]
    Sse { uri: String },
}

impl ExtensionConfig {
    /// Checks that the extension can be started. The error says what to change.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.find_flaw().map_err(|flaw| ConfigError::extension(&self.name, flaw.to_string()))
    }

    fn find_flaw(&self) -> Result<(), Flaw> {
        check_name(&self.key())?;
        if self.timeout_secs == Some(0) {
            return Err(Flaw::ZeroTimeout);
        }
        match &self.kind {
            ExtensionKind::Builtin { env_keys } => check_variables(&Values::default(), env_keys),
            ExtensionKind::Platform => Ok(()),
            ExtensionKind::Stdio { cmd, args, envs, env_keys } => check_stdio(cmd, args, envs, env_keys),
            ExtensionKind::StreamableHttp { uri, headers, envs, env_keys, oauth } => {
                check_uri(uri)?;
                headers.iter().try_for_each(|(name, value)| check_header(name, value))?;
                check_variables(envs, env_keys)?;
                oauth.as_ref().map_or(Ok(()), check_oauth)
            }
            ExtensionKind::Frontend { tools, .. } => tools.iter().enumerate().try_for_each(check_tool),
            ExtensionKind::InlinePython { code, .. } if code.trim().is_empty() => Err(Flaw::EmptyCode),
            ExtensionKind::InlinePython { code, dependencies } => {
                refuse_nul("code", code)?;
                dependencies.iter().try_for_each(|dependency| refuse_nul("dependencies", dependency))
            }
            ExtensionKind::Sse { uri } => {
                Err(Flaw::Sse { uri: uri.as_deref().map_or("https://…".to_owned(), shown_address) })
            }
        }
    }
}

fn check_name(key: &str) -> Result<(), Flaw> {
    if key.is_empty() {
        return Err(Flaw::EmptyName);
    }
    if !key.chars().any(|c| c.is_ascii_alphanumeric()) {
        return Err(Flaw::UnusableName);
    }
    Ok(())
}

fn check_stdio(cmd: &str, args: &[String], envs: &Values, env_keys: &[String]) -> Result<(), Flaw> {
    if cmd.trim().is_empty() {
        return Err(Flaw::EmptyCommand);
    }
    refuse_nul("cmd", cmd)?;
    args.iter().try_for_each(|argument| refuse_nul("args", argument))?;
    check_variables(envs, env_keys)
}

fn check_variables(envs: &Values, env_keys: &[String]) -> Result<(), Flaw> {
    let names = envs.keys().map(|name| ("envs", name)).chain(env_keys.iter().map(|name| ("env_keys", name)));
    for (field, name) in names {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Flaw::VariableName { field, name: name.clone() });
        }
    }
    envs.values().try_for_each(|value| refuse_nul("envs", value))
}

fn refuse_nul(field: &'static str, text: &str) -> Result<(), Flaw> {
    if text.contains('\0') { Err(Flaw::Nul { field }) } else { Ok(()) }
}

fn check_uri(uri: &str) -> Result<(), Flaw> {
    match Url::parse(uri)?.scheme() {
        "http" | "https" => Ok(()),
        other => Err(Flaw::UriScheme { scheme: other.to_owned() }),
    }
}

fn check_header(name: &str, value: &str) -> Result<(), Flaw> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_allowed) {
        return Err(Flaw::HeaderName { name: name.to_owned() });
    }
    check_header_value(name, value)
}

/// Checks that a value can be sent as a header.
pub(crate) fn check_header_value(name: &str, value: &str) -> Result<(), Flaw> {
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Flaw::HeaderValue { name: name.to_owned() });
    }
    Ok(())
}

fn check_oauth(oauth: &OAuthConfig) -> Result<(), Flaw> {
    if oauth.client_secret_key.is_some() && oauth.client_id.is_none() {
        return Err(Flaw::SecretWithoutClient);
    }
    Ok(())
}

fn check_tool((index, tool): (usize, &Value)) -> Result<(), Flaw> {
    match tool.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => Ok(()),
        _ => Err(Flaw::UnnamedTool { number: index + 1 }),
    }
}
