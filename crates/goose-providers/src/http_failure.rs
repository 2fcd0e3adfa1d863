//! Messages for connections that fail: with the address and the cause, and nothing secret.

use std::{error::Error, io, time::Duration};

use crate::{
    endpoint::{Endpoint, shown},
    error::ProviderError,
};

/// Returns the error for a request that got no answer.
pub(crate) fn unreachable(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    let proxy = endpoint.proxy.as_ref().map(|proxy| format!(" through the proxy {}", shown(proxy)));
    network(format!(
        "cannot reach {} at {}{}: {}",
        endpoint.provider,
        endpoint.shown_url(),
        proxy.unwrap_or_default(),
        cause(endpoint, error)
    ))
}

/// Returns the error for a connection that broke during the answer.
pub(crate) fn broken_off(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    network(format!(
        "lost the connection to {} during the answer: {}",
        endpoint.provider,
        cause(endpoint, error)
    ))
}

/// Returns the error for an answer that ended before it was complete.
pub(crate) fn cut(endpoint: &Endpoint) -> ProviderError {
    network(format!("{} closed the connection before the answer was complete", endpoint.provider))
}

/// Returns the error for a service that sends nothing, or nothing complete.
pub(crate) fn silent(endpoint: &Endpoint, patience: Duration) -> ProviderError {
    network(format!(
        "no data from {} at {} for {} s",
        endpoint.provider,
        endpoint.shown_url(),
        patience.as_secs_f32()
    ))
}

/// Returns the error for a client that cannot be made.
pub(crate) fn no_client(error: &reqwest::Error) -> ProviderError {
    network(format!("cannot create an HTTP client: {}", chain(error)))
}

fn network(message: String) -> ProviderError {
    ProviderError::Network { message }
}

fn cause(endpoint: &Endpoint, error: &reqwest::Error) -> String {
    let host = endpoint.proxy.as_ref().unwrap_or(&endpoint.url).host_str().unwrap_or_default();
    if let Some(reason) = certificate_trouble(error) {
        return format!("TLS failed ({reason})");
    }
    if error.is_dns() {
        return format!("cannot resolve the host name `{host}` ({})", innermost(error));
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        _ if error.is_connect() && error.is_timeout() => "connecting timed out".to_owned(),
        _ => chain(error),
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| inner(*error))
}

/// Returns the next cause. The error inside of an `io::Error` is not its source.
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

/// Joins the causes, each once, without reqwest's own first words, which contain the whole URL.
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
