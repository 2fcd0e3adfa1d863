//! How the server introduces itself on either wire, and what the newer one wants with each request.

use serde_json::{Map, Value, json};

use super::{
    message::{INVALID_PARAMS, Refusal, UNSUPPORTED_VERSION},
    options::Wire,
};

const NAME: &str = "misbehave";
const INSTRUCTIONS: &str = "Expect anything.";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The answer to `initialize`.
pub(super) fn initialized() -> Value {
    json!({
        "protocolVersion": Wire::Old.version(),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

/// The answer to `server/discover`.
pub(super) fn discovered() -> Value {
    json!({
        "supportedVersions": [Wire::New.version()],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO_KEY: server_info() },
    })
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "resources": {}, "prompts": {}, "logging": {} })
}

fn server_info() -> Value {
    json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") })
}

/// How long lists of the newer wire may be kept.
pub(super) fn freshness() -> Map<String, Value> {
    Map::from_iter([("ttlMs".to_owned(), json!(0)), ("cacheScope".to_owned(), json!("private"))])
}

/// What is wrong with the `_meta` of a request on the newer wire.
pub(super) fn check_meta(params: &Value) -> Option<Refusal> {
    let meta = &params["_meta"];
    let Some(version) = meta[VERSION_KEY].as_str().filter(|_| meta[CAPABILITIES_KEY].is_object()) else {
        let text = format!("`_meta` needs {VERSION_KEY} and {CAPABILITIES_KEY}.");
        return Some(Refusal::new(INVALID_PARAMS, text));
    };
    let supported = Wire::New.version();
    (version != supported).then(|| Refusal {
        data: Some(json!({ "requested": version, "supported": [supported] })),
        ..Refusal::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
    })
}
