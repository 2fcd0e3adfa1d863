//! What went wrong, told apart by what can be done about it.

use genai::Error;

use crate::{endpoint::Endpoint, error::ProviderError, failure, http_failure};

/// The error that the library's stands for. `seen` is what the relay saw go wrong: of that the library knows only that it
/// got nothing.
pub(super) fn of(endpoint: &Endpoint, error: Error, seen: Option<ProviderError>) -> ProviderError {
    match error {
        // All that the library leaves of an answer without candidates.
        Error::ChatResponse { body, .. } if body.get("finishReason").is_some() => ProviderError::Refused {
            status: None,
            message: "the model gave no answer; the service has probably blocked the question".to_owned(),
        },
        Error::ChatResponse { body, .. } => failure::of_value(endpoint, body.get("error").unwrap_or(&body)),
        Error::StreamParse { serde_error, .. } if serde_error.is_eof() => cut(endpoint, seen),
        Error::StreamParse { serde_error, .. } => protocol(&serde_error.to_string()),
        other => seen.map_or_else(|| protocol(&other.to_string()), |seen| bad_key(endpoint, seen)),
    }
}

/// The answer broke off.
pub(super) fn cut(endpoint: &Endpoint, seen: Option<ProviderError>) -> ProviderError {
    seen.unwrap_or_else(|| http_failure::cut(endpoint))
}

/// Google calls a wrong key a bad request.
fn bad_key(endpoint: &Endpoint, error: ProviderError) -> ProviderError {
    match error {
        ProviderError::Refused { status: Some(400), message }
            if message.to_lowercase().contains("api key") =>
        {
            ProviderError::Auth {
                provider: endpoint.provider.clone(),
                message,
                key: endpoint.key_name.clone(),
            }
        }
        other => other,
    }
}

fn protocol(words: &str) -> ProviderError {
    const MAX_WORDS: usize = 300;
    ProviderError::Protocol { message: failure::clean(words).chars().take(MAX_WORDS).collect() }
}
