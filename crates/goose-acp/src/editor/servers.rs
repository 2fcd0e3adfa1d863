//! MCP servers that the editor gives to a session. They join the pool for that session only.

use goose::config::ExtensionConfig;
use serde_json::Value;

/// Maximum number of servers of a session.
const MAX_SERVERS: usize = 64;

/// Reads the servers of a new session.
///
/// # Errors
///
/// Fails with the name of the first server that cannot be used, and the reason.
pub(super) fn read(params: &Value) -> Result<Vec<ExtensionConfig>, String> {
    let servers = params.get("mcpServers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if servers.len() > MAX_SERVERS {
        return Err(format!("there are {} MCP servers; a session has at most {MAX_SERVERS}", servers.len()));
    }
    servers.iter().map(server).collect()
}

fn server(server: &Value) -> Result<ExtensionConfig, String> {
    let field = |name: &str| server.get(name).and_then(Value::as_str);
    let name = field("name").ok_or("an MCP server has no name")?;
    let missing = |what: &str| format!("the MCP server `{name}` has no {what}");
    let config = match field("type") {
        None | Some("stdio") => {
            let command = field("command").ok_or_else(|| missing("command"))?;
            let arguments = server.get("args").and_then(Value::as_array).into_iter().flatten();
            let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
            let config = ExtensionConfig::stdio(name, command, arguments);
            pairs(server, "env").fold(config, |config, (name, value)| config.with_env(name, value))
        }
        Some("http") => {
            let config = ExtensionConfig::streamable_http(name, field("url").ok_or_else(|| missing("url"))?);
            pairs(server, "headers").fold(config, |config, (name, value)| config.with_header(name, value))
        }
        Some(other) => {
            return Err(format!(
                "the MCP server `{name}` is reached over `{other}`; goose reaches stdio and http"
            ));
        }
    };
    config.check().map_err(|error| format!("the MCP server `{name}` cannot be used: {error}"))?;
    Ok(config)
}

/// Returns the names and values of a list of variables or headers.
fn pairs<'a>(server: &'a Value, list: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let entries = server.get(list).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| Some((entry.get("name")?.as_str()?, entry.get("value")?.as_str()?)))
}
