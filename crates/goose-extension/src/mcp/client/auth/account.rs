//! The login at one server: the token that there is, a newer one, another login.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, CredentialRefreshGuard, CredentialStore,
    OAuthClientConfig, StoredCredentials,
};
use tokio::sync::OwnedMutexGuard;
use url::{Host, Url};

use super::{
    Settings,
    challenge::Challenge,
    clock::LoginClock,
    login,
    store::{StoredLogin, TokenStore},
};
use crate::{error::ToolError, mcp::client::http::HttpError};

/// Passed by one at a time.
pub(super) type Gate = Arc<tokio::sync::Mutex<()>>;

/// The login at one server.
#[derive(Clone)]
pub(in crate::mcp::client) struct Account {
    pub(super) settings: Arc<Settings>,
    pub(super) gate: Gate,
    pub(super) clock: Arc<LoginClock>,
    pub(super) server: Url,
}

impl Account {
    /// The token to send, where there is one; renewed first where it is about to end.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or the token cannot be renewed just now.
    pub(in crate::mcp::client) async fn token(&self) -> Result<Option<String>, HttpError> {
        if let Stored::Fresh(token) = self.stored().await? {
            return Ok(Some(token));
        }
        let gate = Arc::clone(&self.gate).lock_owned().await;
        match self.stored().await? {
            Stored::Fresh(token) => Ok(Some(token)),
            Stored::Old => self.refresh(&gate).await,
            Stored::None => Ok(None),
        }
    }

    /// Gets a token that is not the rejected one, without a person. `false` where that takes a login.
    ///
    /// # Errors
    ///
    /// As for [`token`](Self::token); or no login can help.
    pub(in crate::mcp::client) async fn renew(&self, challenge: &Challenge) -> Result<bool, HttpError> {
        let gate = Arc::clone(&self.gate).lock_owned().await;
        if self.is_answered(challenge).await? {
            return Ok(true);
        }
        if challenge.scope.is_some() || challenge.rejected.is_none() {
            return Ok(false);
        }
        Ok(self.refresh(&gate).await?.is_some_and(|token| Some(&token) != challenge.rejected.as_ref()))
    }

    /// Has a person log in, unless somebody has done so meanwhile.
    ///
    /// # Errors
    ///
    /// Nobody can be asked, or the login failed.
    pub(in crate::mcp::client) fn log_in<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), HttpError>> {
        Box::pin(async move {
            let _gate = self.gate.lock().await;
            if self.is_answered(challenge).await? {
                return Ok(());
            }
            let _under_way = self.clock.begin();
            login::through_browser(self, challenge).await
        })
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
    /// login.
    async fn refresh(&self, _gate: &OwnedMutexGuard<()>) -> Result<Option<String>, HttpError> {
        let Some(login) = self.load().await? else { return Ok(None) };
        if login.token().is_none_or(|token| token.refresh_token.is_none()) {
            return Ok(None);
        }
        let mut manager = self.manager(login.client_secret.clone()).await.map_err(failed)?;
        let resolution = manager.resolve_metadata().await.map_err(failed)?;
        check(&resolution.metadata)?;
        manager.set_metadata(resolution.metadata);
        // It is not renewed where the server has another login server now.
        if !manager.initialize_from_store().await.map_err(failed)? {
            return Ok(None);
        }
        if let Some(secret) = login.client_secret {
            let client = OAuthClientConfig::new(login.credentials.client_id, self.server.as_str());
            manager.configure_client(client.with_client_secret(secret)).map_err(failed)?;
        }
        match manager.refresh_token().await {
            Ok(_) => Ok(self.load().await?.and_then(|login| login.token()).map(|token| token.access_token)),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(AuthError::TokenRefreshFailed(reason)) if reason.contains("error response") => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// What speaks OAuth for us.
    pub(super) async fn manager(&self, secret: Option<String>) -> Result<AuthorizationManager, AuthError> {
        let mut manager = AuthorizationManager::new(self.server.clone()).await?;
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

/// Tokens and secrets travel encrypted, or stay on this machine.
pub(super) fn check(metadata: &AuthorizationMetadata) -> Result<(), HttpError> {
    let registration = metadata.registration_endpoint.as_ref();
    for endpoint in
        [&metadata.authorization_endpoint, &metadata.token_endpoint].into_iter().chain(registration)
    {
        let url = Url::parse(endpoint).map_err(failed)?;
        match (url.scheme(), url.host()) {
            ("https", Some(_)) => {}
            ("http", Some(host)) if is_loopback(&host) => {}
            _ => return Err(failed(format!("the login server's address `{endpoint}` is not https"))),
        }
    }
    Ok(())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
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
