//! Whether a configured extension makes sense, before anything is started.

use serde_json::Value;
use url::Url;

use super::{
    ConfigError,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
    values::Values,
};

/// What is wrong, without the extension's name.
type Finding = Result<(), String>;

impl ExtensionConfig {
    /// Whether this can be started at all. The error says what to change.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.findings().map_err(|message| ConfigError::extension(&self.name, message))
    }

    fn findings(&self) -> Finding {
        name(&self.key())?;
        if self.timeout_secs == Some(0) {
            return Err("a timeout of 0 leaves no time for any call; give seconds, or leave it out".into());
        }
        match &self.kind {
            ExtensionKind::Builtin | ExtensionKind::Platform => Ok(()),
            ExtensionKind::Stdio { cmd, args, envs, env_keys } => stdio(cmd, args, envs, env_keys),
            ExtensionKind::StreamableHttp { uri, headers, envs, env_keys, oauth } => {
                http_uri(uri)?;
                headers.iter().try_for_each(|(name, value)| header(name, value))?;
                variables(envs, env_keys)?;
                oauth.as_ref().map_or(Ok(()), sign_in)
            }
            ExtensionKind::Frontend { tools, .. } => tools.iter().enumerate().try_for_each(frontend_tool),
            ExtensionKind::InlinePython { code, .. } if code.trim().is_empty() => {
                Err("'code' is empty; put the Python program there".into())
            }
            ExtensionKind::InlinePython { code, dependencies } => {
                no_nul("code", code)?;
                dependencies.iter().try_for_each(|dependency| no_nul("dependencies", dependency))
            }
            ExtensionKind::Sse { uri } => Err(sse(uri.as_deref())),
        }
    }
}

fn name(key: &str) -> Finding {
    if key.is_empty() {
        return Err("its name is empty; add 'name: …'".into());
    }
    if !key.chars().any(|c| c.is_ascii_alphanumeric()) {
        return Err("its name has no letter a–z or digit, which its tools' names need; choose another".into());
    }
    Ok(())
}

fn stdio(cmd: &str, args: &[String], envs: &Values, env_keys: &[String]) -> Finding {
    if cmd.trim().is_empty() {
        return Err("'cmd' is empty; put the program to start there".into());
    }
    no_nul("cmd", cmd)?;
    args.iter().try_for_each(|argument| no_nul("args", argument))?;
    variables(envs, env_keys)
}

fn variables(envs: &Values, env_keys: &[String]) -> Finding {
    let names = envs.keys().map(|name| ("envs", name)).chain(env_keys.iter().map(|name| ("env_keys", name)));
    for (field, name) in names {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("'{}' in '{field}' is no name of a variable", name.escape_debug()));
        }
    }
    envs.values().try_for_each(|value| no_nul("envs", value))
}

fn no_nul(field: &str, text: &str) -> Finding {
    if text.contains('\0') {
        return Err(format!("a text in '{field}' contains a NUL character, which no program can be given"));
    }
    Ok(())
}

fn http_uri(uri: &str) -> Finding {
    let advice = "give an address like https://example.com/mcp";
    let url = Url::parse(uri).map_err(|why| format!("'uri' is not an address ({why}); {advice}"))?;
    match url.scheme() {
        "http" | "https" => Ok(()),
        other => {
            Err(format!("'uri' begins with '{other}:', and only http and https can be reached; {advice}"))
        }
    }
}

fn header(name: &str, value: &str) -> Finding {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(format!("'{}' is no name of a header; use letters, digits and '-'", name.escape_debug()));
    }
    header_value(name, value)
}

/// Whether a value can be sent as a header. The message does not show it.
pub(super) fn header_value(name: &str, value: &str) -> Finding {
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(format!(
            "the value of the header '{name}' contains a line break or control character; remove it"
        ));
    }
    Ok(())
}

fn sign_in(oauth: &OAuthConfig) -> Finding {
    if oauth.client_secret_key.is_some() && oauth.client_id.is_none() {
        return Err("'oauth' has a client_secret_key but no client_id; add 'client_id: …'".into());
    }
    Ok(())
}

fn frontend_tool((index, tool): (usize, &Value)) -> Finding {
    match tool.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => Ok(()),
        _ => Err(format!("tool {} in 'tools' has no name; add 'name: …'", index + 1)),
    }
}

fn sse(uri: Option<&str>) -> String {
    let uri = uri.unwrap_or("https://…");
    format!(
        "the type 'sse' is no longer supported; change it to 'type: streamable_http' and 'uri' to the server's \
         streamable HTTP address (often {uri} with /mcp in place of /sse)"
    )
}
