//! The models that a service lists now.

use std::time::Duration;

use serde_json::Value;

use super::{
    Registry,
    choice::{body, elements, talking},
    resolve::Resolved,
    service::Wire,
};
use crate::{
    catalogue::ModelOverrides,
    endpoint::Endpoint,
    http::{Http, WireHeaders},
    lookup::{Lookup, TrackedLookup},
    model_ref::ModelRef,
    wires::{ANTHROPIC_HEADERS, GEMINI_HEADERS},
};

/// Time limit for a list.
const TIME: Duration = Duration::from_secs(4);

/// Request for a list.
struct ListRequest {
    endpoint: Endpoint,
    headers: WireHeaders,
    /// Name of the list in the answer, and of the name in its entries.
    fields: (&'static str, &'static str),
}

impl Registry {
    /// Asks a service for its models that can talk, in its order. Returns `None` if the service has no list, is not set
    /// up, refuses, or does not answer in time.
    pub async fn list_models(&self, service: &str, lookup: &dyn Lookup) -> Option<Vec<String>> {
        let request = self.list_request(service, lookup)?;
        let http = Http::new(request.endpoint);
        let get = http.get(request.headers).ok()?;
        let answer = tokio::time::timeout(TIME, body(get)).await.ok().flatten();
        let Some(answer) = answer else {
            tracing::debug!(url = http.endpoint().shown_url(), "the service does not list its models");
            return None;
        };
        let answer: Value = serde_json::from_slice(&answer).ok()?;
        let (list, name) = request.fields;
        let names = talking(elements(&answer[list]).map(|entry| &entry[name]));
        let names: Vec<String> =
            names.into_iter().map(|name| name.trim_start_matches("models/").to_owned()).collect();
        Some(names).filter(|names| !names.is_empty())
    }

    fn list_request(&self, service: &str, lookup: &dyn Lookup) -> Option<ListRequest> {
        let model = self.with_default_model(&ModelRef::new(service, ""));
        if self.is_embedded(&model) {
            return None;
        }
        let tracked = TrackedLookup::new(lookup);
        let made = self.resolved(&model, &tracked, &ModelOverrides::default());
        let (Resolved { wire, mut endpoint }, _) = tracked.judge(made).ok()?;
        let (mut headers, mut fields) = (WireHeaders::BEARER, ("data", "id"));
        let path = endpoint.url.path().to_owned();
        let path = match wire {
            Wire::OpenAi | Wire::Chat | Wire::Responses => {
                let base = path.strip_suffix("/chat/completions").or_else(|| path.strip_suffix("/responses"));
                format!("{}/models", base?)
            }
            Wire::Anthropic => {
                headers = ANTHROPIC_HEADERS;
                endpoint.url.query_pairs_mut().append_pair("limit", "1000");
                format!("{}/models", path.strip_suffix("/messages")?)
            }
            Wire::Ollama => {
                fields = ("models", "name");
                format!("{}/api/tags", path.strip_suffix("/api/chat")?)
            }
            Wire::Gemini => {
                (headers, fields) = (GEMINI_HEADERS, ("models", "name"));
                endpoint.url.query_pairs_mut().append_pair("pageSize", "1000");
                format!("{}/models", path.trim_end_matches('/'))
            }
            Wire::Vertex | Wire::Bedrock => return None,
        };
        endpoint.url.set_path(&path);
        Some(ListRequest { endpoint, headers, fields })
    }
}
