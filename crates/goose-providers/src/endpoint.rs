//! [`Endpoint`]: the address of a service, its key and its options; [`ApiKey`]: a key that cannot be printed.

use std::{fmt, time::Duration};

use goose_extension::shown_place;
use serde::Deserialize;
use url::Url;

/// Default idle timeout.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// The address of a service, its key and its options. The registry makes it, the wires read it.
#[derive(Clone, PartialEq)]
pub struct Endpoint {
    /// The service, as users name it: `openai`.
    pub provider: String,
    /// The whole URL that requests are posted to, with its query:
    /// `https://api.openai.com/v1/chat/completions`.
    pub url: Url,
    /// Headers that go with every request.
    pub headers: Vec<(String, String)>,
    /// The key; a service on this machine may want none.
    pub key: Option<ApiKey>,
    /// The variable that holds the key, for messages.
    pub key_name: Option<String>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// The parts of its wire that the service understands.
    pub dialect: Dialect,
    /// The idle timeout, if the user has set one.
    pub timeout: Option<Duration>,
    /// The proxy to go through. The environment's is not looked at: who makes the endpoint decides.
    pub proxy: Option<Url>,
}

/// The header that carries a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyHeader {
    /// The wire's own: `Authorization: Bearer …` for OpenAI's, `x-api-key` for Anthropic's.
    #[default]
    Usual,
    /// `Authorization: Bearer …`, whatever the wire.
    Bearer,
    /// A header of the service's own that holds the bare key, such as Azure's `api-key`.
    Named(String),
}

/// The parts of its wire that a service understands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The parts that every service with this wire understands.
    #[default]
    Common,
    /// Everything: the wire's inventor, or a service that keeps up.
    Full,
    /// Common, and models of many makers are behind it: a hint for one of them gets through to it.
    Gateway,
    /// Common, and whatever is not known is refused: no field that is only a hint may be sent.
    Strict,
}

impl Endpoint {
    /// A service at a URL that wants no key.
    pub fn new(provider: impl Into<String>, url: Url) -> Self {
        Self {
            provider: provider.into(),
            url,
            headers: Vec::new(),
            key: None,
            key_name: None,
            key_header: KeyHeader::Usual,
            dialect: Dialect::Common,
            timeout: None,
            proxy: None,
        }
    }

    /// The same with a key, and the variable that holds it.
    pub fn with_key(mut self, key: impl AsRef<str>, name: impl Into<String>) -> Self {
        self.key = Some(ApiKey::new(key));
        self.key_name = Some(name.into());
        self
    }

    /// The idle timeout.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(IDLE_TIMEOUT)
    }

    /// The URL as it may be shown: without user, password, query and fragment, which may be secret.
    pub(crate) fn shown_url(&self) -> String {
        shown_place(self.url.as_str())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("url", &self.shown_url())
            .field("headers", &headers)
            .field("key", &self.key)
            .field("key_name", &self.key_name)
            .field("key_header", &self.key_header)
            .field("dialect", &self.dialect)
            .field("timeout", &self.timeout)
            .field("proxy", &self.proxy.as_ref().map(|proxy| shown_place(proxy.as_str())))
            .finish()
    }
}

/// The key to a service. Its only way out is [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Keeps a key, without the white space that pasting leaves around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key, for the one place that needs it: a request's header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether the key is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_printed() {
        let url = Url::parse("https://me:pass@example.com/v1?key=canary#canary").unwrap();
        let mut endpoint = Endpoint::new("openai", url).with_key("canary", "OPENAI_API_KEY");
        endpoint.headers.push(("x-a".to_owned(), "canary".to_owned()));

        let printed = format!("{endpoint:?} {}", endpoint.shown_url());

        assert!(!printed.contains("canary") && !printed.contains("pass"), "{printed}");
        assert!(printed.contains("[hidden]") && printed.contains("https://example.com/v1"), "{printed}");
    }
}
