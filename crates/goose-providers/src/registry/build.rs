//! From an endpoint to the provider that is asked there.

use std::sync::Arc;

use url::form_urlencoded::byte_serialize;

use super::{resolve::Resolved, service::Wire};
use crate::{
    endpoint::{Endpoint, KeyHeader},
    provider::{ModelInfo, Provider},
    wires::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, VertexClaude},
};

/// Makes the provider. Nothing is connected yet.
pub(super) fn provider(resolved: Resolved, info: ModelInfo) -> Arc<dyn Provider> {
    let Resolved { wire, endpoint } = resolved;
    let model = info.name.as_str();
    match wire {
        Wire::OpenAi | Wire::Chat => Arc::new(OpenAiChat::new(endpoint, info)),
        Wire::Responses => Arc::new(OpenAiResponses::new(endpoint, info)),
        Wire::Anthropic => Arc::new(Anthropic::new(endpoint, info)),
        Wire::Ollama => Arc::new(Ollama::new(endpoint, info)),
        Wire::Gemini => Arc::new(Gemini::new(generate(endpoint, "", model), info)),
        Wire::Vertex if model.contains("claude") => {
            let path = format!("publishers/anthropic/models/{model}:streamRawPredict");
            Arc::new(VertexClaude::new(below(endpoint, &path), info))
        }
        Wire::Vertex => {
            let endpoint = generate(endpoint, "publishers/google/", model).with_key_header(KeyHeader::Bearer);
            Arc::new(Gemini::new(endpoint, info))
        }
        Wire::Bedrock => {
            // The ids of models hold colons, and those of profiles slashes.
            let model: String = byte_serialize(model.as_bytes()).collect();
            Arc::new(Bedrock::new(below(endpoint, &format!("model/{model}/converse-stream")), info))
        }
    }
}

fn generate(endpoint: Endpoint, publisher: &str, model: &str) -> Endpoint {
    let mut endpoint = below(endpoint, &format!("{publisher}models/{model}:streamGenerateContent"));
    endpoint.url.query_pairs_mut().append_pair("alt", "sse");
    endpoint
}

/// Returns the endpoint with a path added to its own.
fn below(mut endpoint: Endpoint, path: &str) -> Endpoint {
    let path = format!("{}/{path}", endpoint.url.path().trim_end_matches('/'));
    endpoint.url.set_path(&path);
    endpoint
}
