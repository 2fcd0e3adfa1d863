//! The library's client, over an HTTP client of ours.

use crate::{endpoint::Endpoint, error::ProviderResult, http};

/// Its environment is never read: endpoint and key come with each request.
pub(super) fn build(endpoint: &Endpoint) -> ProviderResult<genai::Client> {
    let reqwest = http::build_client(endpoint)?;
    genai::Client::builder()
        .with_reqwest(reqwest)
        .build()
        .map_err(|error| super::failure::of(endpoint, error))
}
