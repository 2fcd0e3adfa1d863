//! Why a service could not be reached, in words: with its address, the cause, and nothing secret.

use std::{error::Error, io, time::Duration};

use crate::{endpoint::Endpoint, error::ProviderError};

/// No answer began.
pub(crate) fn unreachable(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    network(format!(
        "{} cannot be reached at {}: {}",
        endpoint.provider,
        endpoint.shown_url(),
        cause(endpoint, error)
    ))
}

/// An answer began and did not end.
pub(crate) fn broken_off(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    network(format!(
        "the connection to {} broke in mid-answer: {}",
        endpoint.provider,
        cause(endpoint, error)
    ))
}

/// An answer ended before it was complete.
pub(crate) fn cut(endpoint: &Endpoint) -> ProviderError {
    network(format!("the answer of {} broke off before its end", endpoint.provider))
}

/// Nothing came for too long.
pub(crate) fn silent(endpoint: &Endpoint, patience: Duration) -> ProviderError {
    network(format!(
        "nothing came from {} at {} for {} s",
        endpoint.provider,
        endpoint.shown_url(),
        patience.as_secs_f32()
    ))
}

/// The client itself could not be made.
pub(crate) fn no_client(error: &reqwest::Error) -> ProviderError {
    network(format!("no connection can be made: {}", chain(error)))
}

fn network(message: String) -> ProviderError {
    ProviderError::Network { message }
}

fn cause(endpoint: &Endpoint, error: &reqwest::Error) -> String {
    let host = endpoint.url.host_str().unwrap_or_default();
    if let Some(reason) = certificate_trouble(error) {
        return format!("its certificate or TLS is not accepted ({reason})");
    }
    if error.is_dns() {
        return format!("there is no address for the name `{host}` ({})", innermost(error));
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => "nothing listens there (connection refused)".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => {
            "the connection was closed by the other side (reset)".to_owned()
        }
        _ if error.is_connect() && error.is_timeout() => "the connection took too long".to_owned(),
        _ => chain(error),
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| inner(*error))
}

/// What an `io::Error` wraps is not its source, but what it gets.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn certificate_trouble(error: &reqwest::Error) -> Option<String> {
    sources(error).find_map(|source| source.downcast_ref::<rustls::Error>()).map(ToString::to_string)
}

fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    sources(error).filter_map(|source| source.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

fn innermost(error: &reqwest::Error) -> String {
    sources(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The causes, each said once, without reqwest's own first words, which hold the whole URL.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    for source in sources(error) {
        let said = source.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
    }
    if text.is_empty() { "the connection failed".to_owned() } else { text }
}
