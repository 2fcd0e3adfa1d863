//! Login at one server: the current token, its renewal, and a new login.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use futures::future::BoxFuture;
use goose_extension::ToolError;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use tokio::sync::{Mutex, MutexGuard};
use url::Url;

use super::{
    OAuthSettings, login,
    store::{StoredLogin, TokenStore},
    url_policy::{self, Challenge},
};
use crate::client::{clock::LoginClock, http_error::HttpError};

/// OAuth error codes for a refresh token that is permanently invalid.
const REFUSALS: [&str; 5] =
    ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"];

/// Login at one server.
#[derive(Clone)]
pub(in crate::client) struct Credentials {
    pub(super) settings: Arc<OAuthSettings>,
    pub(super) login_lock: Arc<LoginLock>,
    pub(super) clock: Arc<LoginClock>,
    pub(super) is_connected: Arc<AtomicBool>,
    pub(super) server: Url,
}

impl Credentials {
    /// Returns the token to send, if there is one. Renews it first if it expires soon.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read, or the token cannot be renewed at the moment.
    pub(in crate::client) async fn token(&self) -> Result<Option<String>, HttpError> {
        match self.stored().await? {
            StoredToken::Fresh(token) => return Ok(Some(token)),
            StoredToken::None => return Ok(None),
            StoredToken::Old => {}
        }
        let login_lock = self.login_lock.renewal.lock().await;
        match self.stored().await? {
            StoredToken::Fresh(token) => Ok(Some(token)),
            StoredToken::Old => self.refresh(&login_lock, None).await,
            StoredToken::None => Ok(None),
        }
    }

    /// Gets a token other than the rejected one, without the user. Returns `false` if that requires a login.
    ///
    /// # Errors
    ///
    /// Fails as [`token`](Self::token) does, or if no login can help.
    pub(in crate::client) async fn renew(&self, challenge: &Challenge) -> Result<bool, HttpError> {
        let login_lock = self.login_lock.renewal.lock().await;
        if self.is_answered(challenge).await? {
            return Ok(true);
        }
        if challenge.scope.is_some() {
            return Ok(false);
        }
        let token = self.refresh(&login_lock, challenge.header.as_deref()).await?;
        Ok(token.is_some_and(|token| Some(&token) != challenge.rejected.as_ref()))
    }

    /// Asks the user to log in, unless another connection has done so meanwhile. If its login failed, all
    /// waiting connections get that error.
    ///
    /// # Errors
    ///
    /// Fails if there is no browser, or the login fails.
    pub(in crate::client) fn log_in<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), HttpError>> {
        Box::pin(async move {
            // Waiting for another connection's login is waiting for the user, too.
            let _login = self.clock.begin();
            let mut last = self.login_lock.last_failure.lock().await;
            if self.is_answered(challenge).await? {
                return Ok(());
            }
            let shared = |it: &&LoginFailure| it.nth > challenge.failures && it.scope == challenge.scope;
            if let Some(failure) = last.as_ref().filter(shared) {
                return Err(failure.error.clone());
            }
            let result = login::through_browser(self, challenge).await;
            if let Err(error) = &result {
                let nth = self.login_lock.failures.fetch_add(1, Ordering::AcqRel) + 1;
                *last = Some(LoginFailure { nth, scope: challenge.scope.clone(), error: error.clone() });
            }
            result
        })
    }

    /// Returns the number of failed logins so far; see [`Challenge::failures`].
    pub(in crate::client) fn failures(&self) -> u64 {
        self.login_lock.failures.load(Ordering::Acquire)
    }

    /// Returns whether the connection is established. Until then, the caller of `connect` waits.
    pub(in crate::client) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Returns whether the store already has the token or scope that a challenge asks for.
    async fn is_answered(&self, challenge: &Challenge) -> Result<bool, HttpError> {
        let Some(login) = self.load().await? else { return Ok(false) };
        let Some(token) = login.token() else { return Ok(false) };
        let is_new = Some(&token.access_token) != challenge.rejected.as_ref();
        match &challenge.scope {
            Some(scope) if login.grants(scope) && !is_new => Err(challenge.error_after_login()),
            Some(scope) => Ok(is_new && login.grants(scope)),
            None => Ok(is_new && login.is_fresh(&token)),
        }
    }

    pub(super) async fn load(&self) -> Result<Option<StoredLogin>, HttpError> {
        self.settings.store.load(&self.server).await.map_err(HttpError::login_failed)
    }

    async fn stored(&self) -> Result<StoredToken, HttpError> {
        let Some(login) = self.load().await? else { return Ok(StoredToken::None) };
        Ok(match login.token() {
            Some(token) if login.is_fresh(&token) => StoredToken::Fresh(token.access_token),
            Some(_) => StoredToken::Old,
            None => StoredToken::None,
        })
    }

    /// Renews the token; returns `None` if that requires a login. The refresh token is sent only to the login
    /// server that issued it.
    async fn refresh(
        &self,
        _gate: &MutexGuard<'_, ()>,
        header: Option<&str>,
    ) -> Result<Option<String>, HttpError> {
        let Some(login) = self.load().await? else { return Ok(None) };
        if login.token().is_none_or(|token| token.refresh_token.is_none()) {
            return Ok(None);
        }
        let mut manager = self.manager(login.client_secret.clone()).await.map_err(HttpError::login_failed)?;
        let resolution = manager.resolve_metadata_from_challenge(header).await.map_err(refresh_error)?;
        let issuer = resolution.metadata.issuer.as_deref();
        if !resolution.source.is_discovered() || !self.is_issuer_of(&login, issuer) {
            return Ok(None);
        }
        url_policy::check(&resolution.metadata)?;
        manager.set_metadata(resolution.metadata);
        let client = client_config(login.credentials.client_id, self.server.as_str(), login.client_secret);
        manager.configure_client(client).map_err(HttpError::login_failed)?;
        match manager.refresh_token().await {
            Ok(_) => Ok(self.load().await?.and_then(|login| login.token()).map(|token| token.access_token)),
            Err(error) if is_refusal(&error) => Ok(None),
            Err(error) => Err(refresh_error(error)),
        }
    }

    /// Returns whether a login server issued this login and is the configured one, if any.
    fn is_issuer_of(&self, login: &StoredLogin, issuer: Option<&str>) -> bool {
        let Some(issuer) = issuer.filter(|issuer| login.credentials.issuer.as_deref() == Some(issuer)) else {
            return false;
        };
        self.settings.issuer.as_deref().is_none_or(|configured| is_same_issuer(configured, issuer))
    }

    /// Creates the OAuth client.
    pub(super) async fn manager(&self, secret: Option<String>) -> Result<AuthorizationManager, AuthError> {
        let server = self.server.clone();
        let mut manager = if url_policy::is_internal(&server).await {
            AuthorizationManager::new_allowing_private_addresses(server).await?
        } else {
            AuthorizationManager::new(server).await?
        };
        manager.set_credential_store(self.token_cache(secret));
        Ok(manager)
    }

    pub(super) fn token_cache(&self, secret: Option<String>) -> TokenCache {
        let (store, server) = (Arc::clone(&self.settings.store), self.server.clone());
        TokenCache { store, server, secret }
    }
}

enum StoredToken {
    None,
    Old,
    Fresh(String),
}

pub(super) fn client_config(id: String, redirect_uri: &str, secret: Option<String>) -> OAuthClientConfig {
    let client = OAuthClientConfig::new(id, redirect_uri);
    match secret {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    }
}

/// Returns the error for a login server that cannot be reached at the moment.
fn refresh_error(error: AuthError) -> HttpError {
    HttpError::LoginUnrenewed(error.to_string().trim_end_matches('.').to_owned())
}

/// Returns whether a refresh token is permanently invalid.
fn is_refusal(error: &AuthError) -> bool {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => true,
        AuthError::TokenRefreshFailed(reason) => reason
            .strip_prefix("Server returned error response: ")
            .is_some_and(|reason| REFUSALS.iter().any(|refusal| reason.starts_with(refusal))),
        _ => false,
    }
}

/// Compares issuers; users write them with and without a trailing slash.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Adapter from a [`TokenStore`] to rmcp's store of one login.
pub(super) struct TokenCache {
    store: Arc<dyn TokenStore>,
    server: Url,
    secret: Option<String>,
}

#[async_trait]
impl CredentialStore for TokenCache {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.store.load(&self.server).await.map_err(store_error)?.map(|login| login.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let client_secret = self.secret.clone();
        self.store.save(&self.server, &StoredLogin { credentials, client_secret }).await.map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.clear(&self.server).await.map_err(store_error)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        Ok(self.store.lock(&self.server).await.map_err(store_error)?.map(CredentialRefreshGuard::new))
    }
}

fn store_error(error: ToolError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// Locks of the login at one server.
#[derive(Default)]
pub(super) struct LoginLock {
    /// Held during a login, which may take minutes. Contains the last failed login.
    last_failure: Mutex<Option<LoginFailure>>,
    /// Held while a token is renewed or replaced, never while waiting for the user.
    pub(super) renewal: Mutex<()>,
    /// Number of failed logins.
    failures: AtomicU64,
}

struct LoginFailure {
    /// Number of failed logins, including this one.
    nth: u64,
    scope: Option<String>,
    error: HttpError,
}
