//! The login at one server: the token that there is, a newer one, another login.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures::future::BoxFuture;
use goose_extension::ToolError;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use tokio::sync::MutexGuard;
use url::Url;

use super::{
    Settings, addresses,
    challenge::Challenge,
    clock::LoginClock,
    gate::Gate,
    login,
    store::{StoredLogin, TokenStore},
};
use crate::client::http::HttpError;

/// What login servers say where a refresh token will never work again.
const REFUSALS: [&str; 5] =
    ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"];

/// The login at one server.
#[derive(Clone)]
pub(in crate::client) struct Account {
    pub(super) settings: Arc<Settings>,
    pub(super) gate: Arc<Gate>,
    pub(super) clock: Arc<LoginClock>,
    pub(super) is_connected: Arc<AtomicBool>,
    pub(super) server: Url,
}

impl Account {
    /// The token to send, where there is one; renewed first where it is about to end.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or the token cannot be renewed just now.
    pub(in crate::client) async fn token(&self) -> Result<Option<String>, HttpError> {
        match self.stored().await? {
            Stored::Fresh(token) => return Ok(Some(token)),
            Stored::None => return Ok(None),
            Stored::Old => {}
        }
        let gate = self.gate.renewal().await;
        match self.stored().await? {
            Stored::Fresh(token) => Ok(Some(token)),
            Stored::Old => self.refresh(&gate, None).await,
            Stored::None => Ok(None),
        }
    }

    /// Gets a token that is not the rejected one, without a person. `false` where that takes a login.
    ///
    /// # Errors
    ///
    /// As for [`token`](Self::token); or no login can help.
    pub(in crate::client) async fn renew(&self, challenge: &Challenge) -> Result<bool, HttpError> {
        let gate = self.gate.renewal().await;
        if self.is_answered(challenge).await? {
            return Ok(true);
        }
        if challenge.scope.is_some() {
            return Ok(false);
        }
        let token = self.refresh(&gate, challenge.header.as_deref()).await?;
        Ok(token.is_some_and(|token| Some(&token) != challenge.rejected.as_ref()))
    }

    /// Has a person log in, unless somebody has done so meanwhile. Where somebody tried in vain meanwhile, that is the
    /// answer for all who waited.
    ///
    /// # Errors
    ///
    /// Nobody can be asked, or the login failed.
    pub(in crate::client) fn log_in<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), HttpError>> {
        Box::pin(async move {
            // Waiting for the login of another connection is waiting for a person, too.
            let _under_way = self.clock.begin();
            let mut last = self.gate.login().await;
            if self.is_answered(challenge).await? {
                return Ok(());
            }
            if let Some(error) = last.of(challenge) {
                return Err(error);
            }
            let result = login::through_browser(self, challenge).await;
            if let Err(error) = &result {
                self.gate.note(&mut last, challenge, error);
            }
            result
        })
    }

    /// How many logins have failed so far; see [`Challenge::failures`].
    pub(in crate::client) fn failures(&self) -> u64 {
        self.gate.failures()
    }

    /// Whether connecting is over: as long as it is not, somebody waits for it.
    pub(in crate::client) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Whether the store has what a challenge wants by now.
    async fn is_answered(&self, challenge: &Challenge) -> Result<bool, HttpError> {
        let Some(login) = self.load().await? else { return Ok(false) };
        let Some(token) = login.token() else { return Ok(false) };
        let is_new = Some(&token.access_token) != challenge.rejected.as_ref();
        match &challenge.scope {
            Some(scope) if login.grants(scope) && !is_new => Err(challenge.in_vain()),
            Some(scope) => Ok(is_new && login.grants(scope)),
            None => Ok(is_new && login.is_fresh(&token)),
        }
    }

    pub(super) async fn load(&self) -> Result<Option<StoredLogin>, HttpError> {
        self.settings.store.load(&self.server).await.map_err(failed)
    }

    async fn stored(&self) -> Result<Stored, HttpError> {
        let Some(login) = self.load().await? else { return Ok(Stored::None) };
        Ok(match login.token() {
            Some(token) if login.is_fresh(&token) => Stored::Fresh(token.access_token),
            Some(_) => Stored::Old,
            None => Stored::None,
        })
    }

    /// A new token for the refresh token; nothing where the login server has none for us, so that the server asks for a
    /// login. The refresh token goes only to the login server that gave it.
    async fn refresh(
        &self,
        _gate: &MutexGuard<'_, ()>,
        header: Option<&str>,
    ) -> Result<Option<String>, HttpError> {
        let Some(login) = self.load().await? else { return Ok(None) };
        if login.token().is_none_or(|token| token.refresh_token.is_none()) {
            return Ok(None);
        }
        let mut manager = self.manager(login.client_secret.clone()).await.map_err(failed)?;
        let resolution = manager.resolve_metadata_from_challenge(header).await.map_err(unrenewed)?;
        let issuer = resolution.metadata.issuer.as_deref();
        if !resolution.source.is_discovered() || !self.is_issuer_of(&login, issuer) {
            return Ok(None);
        }
        addresses::check(&resolution.metadata)?;
        manager.set_metadata(resolution.metadata);
        let client = OAuthClientConfig::new(login.credentials.client_id, self.server.as_str());
        let client = match login.client_secret {
            Some(secret) => client.with_client_secret(secret),
            None => client,
        };
        manager.configure_client(client).map_err(failed)?;
        match manager.refresh_token().await {
            Ok(_) => Ok(self.load().await?.and_then(|login| login.token()).map(|token| token.access_token)),
            Err(error) if is_refusal(&error) => Ok(None),
            Err(error) => Err(unrenewed(error)),
        }
    }

    /// Whether a login server is the one that gave a login, and the one that was configured, if one was.
    fn is_issuer_of(&self, login: &StoredLogin, issuer: Option<&str>) -> bool {
        let Some(issuer) = issuer.filter(|issuer| login.credentials.issuer.as_deref() == Some(issuer)) else {
            return false;
        };
        self.settings.issuer.as_deref().is_none_or(|configured| is_same_issuer(configured, issuer))
    }

    /// What speaks OAuth for us.
    pub(super) async fn manager(&self, secret: Option<String>) -> Result<AuthorizationManager, AuthError> {
        let server = self.server.clone();
        let mut manager = if self.settings.private_addresses || addresses::is_internal(&server).await {
            AuthorizationManager::new_allowing_private_addresses(server).await?
        } else {
            AuthorizationManager::new(server).await?
        };
        manager.set_credential_store(self.shelf(secret));
        Ok(manager)
    }

    pub(super) fn shelf(&self, secret: Option<String>) -> Shelf {
        let (store, server) = (Arc::clone(&self.settings.store), self.server.clone());
        Shelf { store, server, secret }
    }
}

enum Stored {
    None,
    Old,
    Fresh(String),
}

pub(super) fn failed(error: impl std::fmt::Display) -> HttpError {
    HttpError::LoginFailed(error.to_string().trim_end_matches('.').to_owned())
}

/// The login server cannot be asked just now.
fn unrenewed(error: AuthError) -> HttpError {
    HttpError::LoginUnrenewed(error.to_string().trim_end_matches('.').to_owned())
}

/// Whether a refresh token will never work again.
fn is_refusal(error: &AuthError) -> bool {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => true,
        AuthError::TokenRefreshFailed(reason) => reason
            .strip_prefix("Server returned error response: ")
            .is_some_and(|reason| REFUSALS.iter().any(|refusal| reason.starts_with(refusal))),
        _ => false,
    }
}

/// People write issuers with and without the slash at the end.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// The place of one login in a [`TokenStore`], as rmcp wants it.
pub(super) struct Shelf {
    store: Arc<dyn TokenStore>,
    server: Url,
    secret: Option<String>,
}

#[async_trait]
impl CredentialStore for Shelf {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.store.load(&self.server).await.map_err(unkept)?.map(|login| login.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let client_secret = self.secret.clone();
        self.store.save(&self.server, &StoredLogin { credentials, client_secret }).await.map_err(unkept)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.clear(&self.server).await.map_err(unkept)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        Ok(self.store.lock(&self.server).await.map_err(unkept)?.map(CredentialRefreshGuard::new))
    }
}

fn unkept(error: ToolError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
