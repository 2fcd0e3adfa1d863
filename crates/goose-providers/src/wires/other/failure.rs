//! What went wrong inside of the library, told apart by what can be done about it.

use genai::{Error, webc};

use crate::{
    endpoint::Endpoint,
    error::ProviderError,
    failure,
    http::{MAX_REFUSAL_BYTES, Refusal},
    http_failure,
};

/// The error that the library's stands for. The status of an answer is inside of another error.
pub(super) fn of(endpoint: &Endpoint, error: Error) -> ProviderError {
    match error {
        Error::HttpError { status, body, headers, .. } => {
            let mut body = body.into_bytes();
            body.truncate(MAX_REFUSAL_BYTES);
            bad_key(endpoint, failure::of_refusal(endpoint, &Refusal { status, headers: *headers, body }))
        }
        Error::WebStream { error, cause, .. } => of_stream(endpoint, error, &cause),
        // All that the library leaves of an answer without candidates.
        Error::ChatResponse { body, .. } if body.get("finishReason").is_some() => ProviderError::Refused {
            status: None,
            message: "the model gave no answer; the service has probably blocked the question".to_owned(),
        },
        Error::ChatResponse { body, .. } => failure::of_value(endpoint, body.get("error").unwrap_or(&body)),
        Error::StreamParse { serde_error, .. } if serde_error.is_eof() => cut(endpoint),
        Error::StreamParse { serde_error, .. } => protocol(&serde_error.to_string()),
        Error::WebModelCall { webc_error: webc::Error::Reqwest(error), .. } => {
            http_failure::unreachable(endpoint, &error)
        }
        other => protocol(&other.to_string()),
    }
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

fn of_stream(endpoint: &Endpoint, error: genai::BoxError, cause: &str) -> ProviderError {
    let error = match error.downcast::<Error>() {
        Ok(error) => return of(endpoint, *error),
        Err(error) => error,
    };
    let error = match error.downcast::<reqwest::Error>() {
        Ok(error) if error.is_connect() || error.is_request() || error.is_builder() => {
            return http_failure::unreachable(endpoint, &error);
        }
        Ok(error) => return http_failure::broken_off(endpoint, &error),
        Err(error) => error,
    };
    match error.downcast_ref::<webc::StreamTimeout>() {
        Some(_) => ProviderError::Network {
            message: format!("nothing came from {} for too long", endpoint.shown_url()),
        },
        None => protocol(cause),
    }
}

/// The answer broke off.
pub(super) fn cut(endpoint: &Endpoint) -> ProviderError {
    http_failure::cut(endpoint)
}

fn protocol(words: &str) -> ProviderError {
    const MAX_WORDS: usize = 300;
    ProviderError::Protocol { message: failure::clean(words).chars().take(MAX_WORDS).collect() }
}
