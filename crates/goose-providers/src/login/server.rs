//! [`LoginServer`]: requests to the address where a service has its login.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::Value;
use url::Url;

use super::error::LoginError;
use crate::{
    endpoint::{ApiKey, Endpoint},
    failure,
    http::Http,
    lookup::{Lookup, TrackedLookup},
    registry::address::{self, Usual},
    registry::{SetupError, is_here},
};

/// Time limit for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Maximum length of a key; those of today have about 100 characters.
const MAX_KEY_BYTES: usize = 4096;

/// Address where a service has its login.
pub(super) struct LoginServer {
    /// The service, as it is shown.
    pub(super) service: &'static str,
    base: Url,
    proxy: Option<Url>,
}

impl LoginServer {
    /// Takes the address from a setting, or the usual one.
    ///
    /// # Errors
    ///
    /// The address is malformed, or a key from there could be read on its way.
    pub(super) fn new(
        service: &'static str,
        setting: &'static str,
        usual: &'static str,
        lookup: &dyn Lookup,
    ) -> Result<Self, LoginError> {
        let tracked = TrackedLookup::new(lookup);
        let text = tracked.value(setting).filter(|text| !text.trim().is_empty());
        let bad = |reason| SetupError::BadSetting { variable: setting.to_owned(), reason };
        let made = address::parse(text.as_deref().unwrap_or(usual), Usual::Service).map_err(bad);
        let made = made.and_then(|base| match is_confidential(&base) {
            true => Ok((address::proxy_for(&base, &tracked)?, base)),
            false => Err(bad("a login needs an https address".to_owned())),
        });
        let (proxy, base) = tracked.judge(made)?;
        Ok(Self { service, base, proxy })
    }

    /// Returns the URL of a path.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_query(None);
        url.set_path(path);
        url
    }

    /// Posts a JSON document, and returns the status and the document of the answer.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<(StatusCode, Value), LoginError> {
        let mut endpoint = Endpoint::new(self.service, self.url(path));
        (endpoint.proxy, endpoint.timeout) = (self.proxy.clone(), Some(ANSWER_TIME));
        let http = Http::new(endpoint);
        let answer = http.exchange(body.to_string().into_bytes()).await?;
        let status = answer.status;
        let is_busy = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        if is_busy || status.is_redirection() {
            return Err(failure::from_refusal(http.endpoint(), &answer).into());
        }
        match serde_json::from_slice(&answer.body) {
            Ok(document) => Ok((status, document)),
            Err(_) if !status.is_success() => {
                Err(self.refused(failure::refusal_text(http.endpoint(), &answer), None))
            }
            Err(_) => Err(self.protocol("it is not JSON")),
        }
    }

    pub(super) fn refused(&self, message: String, hint: Option<String>) -> LoginError {
        LoginError::Refused { service: self.service, message, hint }
    }

    pub(super) fn protocol(&self, message: &str) -> LoginError {
        LoginError::Protocol { service: self.service, message: message.to_owned() }
    }

    /// Returns the key in an answer.
    pub(super) fn key(&self, answer: &Value, field: &str) -> Result<ApiKey, LoginError> {
        let key = answer[field].as_str().unwrap_or_default();
        let is_good = !key.is_empty() && key.len() <= MAX_KEY_BYTES && HeaderValue::from_str(key).is_ok();
        is_good.then(|| ApiKey::new(key)).ok_or_else(|| self.protocol("it has no key"))
    }
}

/// Returns whether requests to a URL are encrypted, or stay on this machine.
pub(super) fn is_confidential(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        scheme => scheme == "http" && is_here(url),
    }
}
