//! Converts manifests to and from the Agent Communication Protocol.
//!
//! Readers of the protocol drop unknown keys at the top level, so modes and instructions travel in
//! `metadata`. Dependencies and capabilities are objects there. Names are DNS labels, which have no `_`.

use serde_json::{Map, Value, json};

use super::manifest::{AgentManifest, Capability, Dependency};

impl AgentManifest {
    /// Converts the manifest to the Agent Communication Protocol.
    pub fn to_acp(&self) -> Value {
        let dependency = |it: &Dependency| json!({"type": "tool", "name": it.name()});
        let capability = |it: &Capability| {
            let description = if it.description.is_empty() { &it.name } else { &it.description };
            json!({"name": it.name, "description": description})
        };
        let metadata = &self.metadata;
        let mut meta = json!({
            "framework": "goose",
            "dependencies": metadata.dependencies.iter().map(dependency).collect::<Vec<_>>(),
            "capabilities": metadata.capabilities.iter().map(capability).collect::<Vec<_>>(),
            "recommended_models": metadata.recommended_models,
            "modes": self.modes,
        });
        if !self.instructions.is_empty() {
            meta["instructions"] = self.instructions.as_str().into();
        }
        json!({
            "name": self.name.replace('_', "-"),
            "description": self.description,
            "input_content_types": ["text/plain"],
            "output_content_types": ["text/plain"],
            "metadata": meta,
        })
    }
}

/// Moves the parts that travel in `metadata` back to the top level.
pub(super) fn lift(manifest: &mut Map<String, Value>) {
    for key in ["modes", "instructions"] {
        if manifest.contains_key(key) {
            continue;
        }
        let metadata = manifest.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(value) = metadata.and_then(|metadata| metadata.remove(key)) {
            manifest.insert(key.to_owned(), value);
        }
    }
}
