//! From an endpoint to somebody who is asked there.

use std::sync::Arc;

use super::{resolve::Resolved, service::Wire, setup_error::SetupError};
#[cfg(feature = "other-wires")]
use crate::wires::{Cloud, Gateway};
use crate::{
    endpoint::Endpoint,
    provider::{ModelInfo, Provider},
    wires::{Anthropic, Ollama, OpenAiChat, OpenAiResponses},
};

/// Nothing is connected yet.
///
/// # Errors
///
/// A wire that was left out when goose was built.
pub(super) fn provider(resolved: Resolved, info: ModelInfo) -> Result<Arc<dyn Provider>, SetupError> {
    let Resolved { wire, endpoint } = resolved;
    Ok(match wire {
        Wire::OpenAi | Wire::Chat => Arc::new(OpenAiChat::new(endpoint, info)),
        Wire::Responses => Arc::new(OpenAiResponses::new(endpoint, info)),
        Wire::Anthropic => Arc::new(Anthropic::new(endpoint, info)),
        Wire::Ollama => Arc::new(Ollama::new(endpoint, info)),
        Wire::Gemini | Wire::Vertex | Wire::Bedrock => return other(wire, endpoint, info),
    })
}

#[cfg(feature = "other-wires")]
fn other(wire: Wire, endpoint: Endpoint, info: ModelInfo) -> Result<Arc<dyn Provider>, SetupError> {
    let cloud = match wire {
        Wire::Vertex => Cloud::Vertex,
        Wire::Bedrock => Cloud::Bedrock,
        _ => Cloud::Gemini,
    };
    Ok(Arc::new(Gateway::new(cloud, endpoint, info)))
}

#[cfg(not(feature = "other-wires"))]
fn other(_: Wire, endpoint: Endpoint, _: ModelInfo) -> Result<Arc<dyn Provider>, SetupError> {
    Err(SetupError::Unsupported {
        name: endpoint.provider,
        reason: "this goose was built without it".to_owned(),
        instead: "use a goose that was built with the feature `other-wires`, or a gateway such as openrouter"
            .to_owned(),
    })
}
