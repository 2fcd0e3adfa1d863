//! [`DeviceLogin`]: GitHub's device flow (RFC 8628), which needs no browser on this machine.
//!
//! goose has no app at GitHub, and those of other programs are not goose's to use: the user names one.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use url::Url;

use super::{
    error::LoginError,
    server::{LoginServer, is_confidential},
};
use crate::{
    endpoint::ApiKey,
    error::ProviderError,
    failure,
    lookup::{Lookup, TrackedLookup},
};

/// Setting with the client id of the app that asks for the login.
pub(super) const CLIENT_ID: &str = "GOOSE_GITHUB_CLIENT_ID";

/// Address, and the setting that replaces it.
const HOST: &str = "https://github.com";
const HOST_SETTING: &str = "GOOSE_GITHUB_HOST";

/// Path where a login begins.
const CODES: &str = "/login/device/code";

/// Path where the token is asked for.
const TOKENS: &str = "/login/oauth/access_token";

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Pause between two questions, if the service names none, and what `slow_down` adds to it.
const PAUSE: Duration = Duration::from_secs(5);

/// Bounds of the pause that a service asks for.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Lifetime of a code, if the service names none, and the longest one.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
const MAX_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Number of failures to reach the service in a row that are not retried any more.
const MAX_FAILURES: u32 = 3;

/// Maximum length of the code that the user types.
const MAX_CODE_CHARS: usize = 32;

/// A login with a code that the user types on a page.
pub struct DeviceLogin {
    server: LoginServer,
    client_id: String,
    device_code: String,
    user_code: String,
    page: Url,
    pause: Duration,
    ends: Instant,
}

/// Token of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceToken {
    /// The token, which is the key of the service.
    pub key: ApiKey,
    /// Time for which it is valid, if it ends.
    pub lasts: Option<Duration>,
}

impl DeviceLogin {
    /// Asks GitHub for a code.
    ///
    /// # Errors
    ///
    /// No app is configured, the service is not reached, or it refuses.
    pub async fn begin(lookup: &dyn Lookup) -> Result<Self, LoginError> {
        let server = LoginServer::new("GitHub", HOST_SETTING, HOST, lookup)?;
        let tracked = TrackedLookup::new(lookup);
        let client_id = tracked.value(CLIENT_ID).map(|id| id.trim().to_owned());
        let client_id = tracked.judge(Ok(client_id))?.filter(|id| !id.is_empty());
        let client_id = client_id.ok_or(LoginError::MissingClientId)?;
        let (status, answer) = server.post(CODES, &json!({ "client_id": client_id })).await?;
        if !status.is_success() || !answer["error"].is_null() {
            let hint = format!("check {CLIENT_ID}, and that the device flow is enabled for that app");
            return Err(server.refused(failure::words(&answer), Some(hint)));
        }
        let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
        let (device_code, user_code) = (text("device_code"), text("user_code"));
        let is_code = |code: &str| {
            (1..=MAX_CODE_CHARS).contains(&code.len()) && code.chars().all(|c| c.is_ascii_graphic())
        };
        if device_code.is_empty() || !is_code(&user_code) {
            return Err(server.protocol("it has no code"));
        }
        let page = Url::parse(&text("verification_uri")).ok().filter(is_confidential);
        let page = page.ok_or_else(|| server.protocol("it names no https page for the code"))?;
        let pause = seconds(&answer, "interval").unwrap_or(PAUSE).clamp(MIN_PAUSE, MAX_PAUSE);
        let ends = Instant::now() + seconds(&answer, "expires_in").unwrap_or(LIFETIME).min(MAX_LIFETIME);
        Ok(Self { server, client_id, device_code, user_code, page, pause, ends })
    }

    /// Returns the code that the user types.
    pub fn code(&self) -> &str {
        &self.user_code
    }

    /// Returns the page on which the user types the code.
    pub fn page(&self) -> &Url {
        &self.page
    }

    /// Waits until the user has entered the code.
    ///
    /// # Errors
    ///
    /// The user declines or is too late, or the service refuses or is not reached any more.
    pub async fn token(mut self) -> Result<DeviceToken, LoginError> {
        let service = self.server.service;
        let body = json!({
            "client_id": self.client_id, "device_code": self.device_code, "grant_type": GRANT_TYPE,
        });
        let mut failures = 0;
        loop {
            if Instant::now() + self.pause > self.ends {
                tokio::time::sleep_until(self.ends).await;
                return Err(LoginError::Expired(service));
            }
            tokio::time::sleep(self.pause).await;
            let answer = match self.server.post(TOKENS, &body).await {
                Ok((_, answer)) => answer,
                Err(LoginError::Service(error)) if error.is_transient() && failures < MAX_FAILURES => {
                    self.pause = after_failure(self.pause, &error);
                    failures += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            match answer["error"].as_str() {
                None if answer["error"].is_null() && answer["access_token"].is_string() => {
                    let key = self.server.key(&answer, "access_token")?;
                    return Ok(DeviceToken { key, lasts: seconds(&answer, "expires_in") });
                }
                Some("authorization_pending") => {}
                // The service may name another pause.
                Some("slow_down") => self.pause = slower(self.pause, seconds(&answer, "interval")),
                Some("access_denied") => return Err(LoginError::Declined(service)),
                Some("expired_token" | "token_expired") => return Err(LoginError::Expired(service)),
                _ => return Err(self.server.refused(failure::words(&answer), None)),
            }
        }
    }
}

/// Returns the pause after `slow_down`: longer than before, whatever the service says.
fn slower(pause: Duration, said: Option<Duration>) -> Duration {
    said.filter(|said| *said > pause).unwrap_or(pause + PAUSE).min(MAX_PAUSE)
}

/// Returns the pause after the service was not reached.
fn after_failure(pause: Duration, error: &ProviderError) -> Duration {
    error.retry_after().unwrap_or(pause).clamp(pause, MAX_PAUSE)
}

fn seconds(answer: &Value, field: &str) -> Option<Duration> {
    answer[field].as_u64().filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_only_grow_and_are_bounded() {
        let secs = Duration::from_secs;
        assert_eq!(slower(secs(5), None), secs(10));
        assert_eq!(slower(secs(5), Some(secs(12))), secs(12));
        assert_eq!(slower(secs(5), Some(secs(2))), secs(10));
        assert_eq!(slower(secs(58), None), MAX_PAUSE);
    }
}
