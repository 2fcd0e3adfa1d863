//! Where logins are kept: [`TokenStore`], and the one that forgets.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use goose_extension::ToolResult;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};
use url::Url;

/// A token that ends sooner than this is renewed before it is used.
const LEEWAY_SECS: u64 = 30;

/// A login at a server: tokens, and the client that they were given to. It is for that server only.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLogin {
    pub(super) credentials: StoredCredentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
}

impl std::fmt::Debug for StoredLogin {
    /// Shows nothing that is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredLogin")
            .field("client_id", &self.credentials.client_id)
            .field("issuer", &self.credentials.issuer)
            .field("scopes", &self.credentials.granted_scopes)
            .finish_non_exhaustive()
    }
}

/// The part of a token response that we read.
#[derive(Deserialize)]
pub(super) struct Token {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    expires_in: Option<u64>,
}

impl StoredLogin {
    pub(super) fn token(&self) -> Option<Token> {
        let response = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        serde_json::from_value(response).ok()
    }

    /// Whether the token can be used for a while.
    pub(super) fn is_fresh(&self, token: &Token) -> bool {
        let (Some(lasts), Some(since)) = (token.expires_in, self.credentials.token_received_at) else {
            return true;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        since.saturating_add(lasts) > now.saturating_add(LEEWAY_SECS)
    }

    /// Whether all of some scopes were granted.
    pub(super) fn grants(&self, scope: &str) -> bool {
        scope.split_whitespace().all(|one| self.credentials.granted_scopes.iter().any(|it| it == one))
    }
}

/// Keeps logins by the URL of their server.
///
/// # Errors
///
/// All methods fail where the store cannot be read or written, and say what to do about it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// The login at a server, as it is now.
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>>;

    /// Keeps a login in place of the one before.
    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()>;

    /// Forgets the login at a server.
    async fn clear(&self, server: &Url) -> ToolResult<()>;

    /// Keeps others who share the store from renewing the same login at the same time, as long as the result lives.
    async fn lock(&self, server: &Url) -> ToolResult<Option<Box<dyn Send>>> {
        let _ = server;
        Ok(None)
    }
}

/// Keeps logins until it is dropped.
#[derive(Default)]
pub struct MemoryTokenStore {
    logins: Mutex<HashMap<Url, StoredLogin>>,
}

#[async_trait]
impl TokenStore for MemoryTokenStore {
    async fn load(&self, server: &Url) -> ToolResult<Option<StoredLogin>> {
        Ok(self.logins.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned())
    }

    async fn save(&self, server: &Url, login: &StoredLogin) -> ToolResult<()> {
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        logins.insert(server.clone(), login.clone());
        Ok(())
    }

    async fn clear(&self, server: &Url) -> ToolResult<()> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
        Ok(())
    }
}

/// The URL that a server's login is kept under.
pub(super) fn key(server: &Url) -> Url {
    let mut key = server.clone();
    key.set_fragment(None);
    // Only URLs without a host refuse these, and they have neither.
    let _ = key.set_username("");
    let _ = key.set_password(None);
    key
}
