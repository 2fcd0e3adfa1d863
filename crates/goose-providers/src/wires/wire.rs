//! [`Wire`]: a codec, an endpoint and a model, ready to be asked. The three providers are made of it.

use serde::Serialize;

use super::{
    assembly::Assembly,
    content::Sight,
    history::History,
    stream::{self, Decoder},
};
use crate::{
    endpoint::{Dialect, Endpoint},
    error::ProviderResult,
    http::{Http, UsualKey},
    provider::ModelInfo,
    reply::ReplyStream,
    request::Request,
};

/// What differs between the wires.
pub(super) trait Codec {
    type Decoder: Decoder + 'static;

    /// How this wire carries a key, and the headers it wants.
    const USUAL_KEY: UsualKey;
    const HEADERS: &'static [(&'static str, &'static str)];

    /// The body of a request.
    fn encode(ask: &Ask<'_>) -> Vec<u8>;

    /// What reads the answer.
    fn decoder(endpoint: &Endpoint) -> Self::Decoder;
}

/// All that a codec looks at.
pub(super) struct Ask<'a> {
    pub(super) request: Request<'a>,
    pub(super) model: &'a ModelInfo,
    pub(super) dialect: Dialect,
    pub(super) history: &'a History,
}

impl Ask<'_> {
    pub(super) fn sight(&self) -> Sight {
        if self.model.sees_images { Sight::Seeing } else { Sight::Blind }
    }

    /// The key under which the service may cache the conversation.
    pub(super) fn cache_key(&self) -> Option<&str> {
        const MAX_KEY_BYTES: usize = 64;
        let key = self.request.options.conversation.as_deref().filter(|_| self.dialect == Dialect::Full)?;
        key.get(..key.floor_char_boundary(MAX_KEY_BYTES)).filter(|key| !key.is_empty())
    }
}

pub(super) struct Wire {
    http: Http,
    model: ModelInfo,
    history: History,
}

impl Wire {
    pub(super) fn new<C: Codec>(endpoint: Endpoint, model: ModelInfo) -> Self {
        Self { http: Http::new(endpoint, C::USUAL_KEY), model, history: History::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.http.endpoint().provider
    }

    pub(super) fn model(&self) -> &ModelInfo {
        &self.model
    }

    pub(super) fn prepare(&self) {
        // What is wrong is said when it is asked.
        let _ = self.http.prepare();
    }

    pub(super) async fn stream<C: Codec>(&self, request: Request<'_>) -> ProviderResult<ReplyStream> {
        let endpoint = self.http.endpoint();
        let body = C::encode(&Ask {
            request,
            model: &self.model,
            dialect: endpoint.dialect,
            history: &self.history,
        });
        let body = self.http.post(body, C::HEADERS).await?;
        Ok(stream::of(body, C::decoder(endpoint), Assembly::new()))
    }
}

/// Appends a value as JSON. Nothing that is written here can fail to be JSON; if it did, it would be `null`.
pub(super) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Appends an element of a list, with the comma before it.
pub(super) fn write_element(out: &mut Vec<u8>, value: &impl Serialize) {
    out.push(b',');
    write_json(out, value);
}

/// Appends `"name":[` and what `elements` writes, each with a comma before it, and `]`.
pub(super) fn write_list(out: &mut Vec<u8>, name: &str, elements: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":[");
    let start = out.len();
    elements(out);
    if out.get(start) == Some(&b',') {
        out.remove(start);
    }
    out.push(b']');
}
