//! [`BrowserLogin`]: OpenRouter's login, with a page in the browser and PKCE (RFC 7636).
//!
//! OpenRouter registers no clients and sends no `state` back, so the `state` is a part of the callback's path.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::{error::LoginError, server::LoginServer};
use crate::{endpoint::ApiKey, failure, lookup::Lookup};

/// Address, and the setting that replaces it.
const HOST: &str = "https://openrouter.ai";
const HOST_SETTING: &str = "OPENROUTER_HOST";

/// Path of the login page.
const PAGE: &str = "/auth";

/// Path where a code is exchanged for a key.
const KEYS: &str = "/api/v1/auth/keys";

/// Way in which the challenge is made of the verifier.
const METHOD: &str = "S256";

/// Number of random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// A login with a page in the browser.
pub struct BrowserLogin {
    server: LoginServer,
    state: String,
    verifier: String,
}

impl BrowserLogin {
    /// Begins a login at OpenRouter. Nothing is sent.
    ///
    /// # Errors
    ///
    /// The address in the settings cannot be used.
    pub fn new(lookup: &dyn Lookup) -> Result<Self, LoginError> {
        let server = LoginServer::new("OpenRouter", HOST_SETTING, HOST, lookup)?;
        Ok(Self { server, state: secret()?, verifier: secret()? })
    }

    /// Returns the secret that the address of the callback must have.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns the page to show, which sends the browser to `callback` with a code.
    pub fn page(&self, callback: &str) -> Url {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let mut page = self.server.url(PAGE);
        page.query_pairs_mut()
            .append_pair("callback_url", callback)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", METHOD);
        page
    }

    /// Exchanges the code for a key.
    ///
    /// # Errors
    ///
    /// The service is not reached, or refuses.
    pub async fn key(&self, code: &str) -> Result<ApiKey, LoginError> {
        let body = json!({ "code": code, "code_verifier": self.verifier, "code_challenge_method": METHOD });
        let (status, answer) = self.server.post(KEYS, &body).await?;
        if !status.is_success() {
            let hint = "log in again; a code can be used only once and not for long".to_owned();
            return Err(self.server.refused(failure::words(&answer), Some(hint)));
        }
        self.server.key(&answer, "key")
    }
}

/// Returns a random text that can stand in a URL.
fn secret() -> Result<String, LoginError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| LoginError::Random(error.to_string()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
