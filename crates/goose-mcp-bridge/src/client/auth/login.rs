//! Login with a browser: the login page, the callback, and the exchange of the code for a token.

use goose_extension::shown_place;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};
use url::Url;

use super::{
    browser::Browser,
    callback::Callback,
    credentials::{Credentials, client_config, is_same_issuer},
    store::StoredLogin,
    url_policy::{Challenge, check},
};
use crate::client::http_error::HttpError;

/// Name of this client.
const CLIENT_NAME: &str = "goose";

/// Scope for tokens that can be renewed.
const OFFLINE: &str = "offline_access";

/// Logs in with a browser.
///
/// # Errors
///
/// Fails if there is no browser, the server names no login server or an unsafe one, or the user or login
/// server refuses.
pub(super) async fn through_browser(
    credentials: &Credentials,
    challenge: &Challenge,
) -> Result<(), HttpError> {
    let Some(browser) = &credentials.settings.browser else { return Err(challenge.error_without_browser()) };
    let before = credentials.load().await?;
    let mut manager = credentials.manager(None).await.map_err(HttpError::login_failed)?;
    let metadata = discover(&mut manager, challenge).await?;
    check_issuer(credentials, &metadata, before.as_ref())?;
    let callback = Callback::listen(credentials.settings.redirect_port).await;
    let callback = callback
        .map_err(|error| HttpError::login_failed(format!("no port for the browser's callback: {error}")))?;
    let scopes = scopes(credentials, &manager, &metadata, challenge, before.as_ref()).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = client(credentials, &mut manager, &metadata, &callback.redirect_uri(), &scopes).await?;
    manager.set_credential_store(credentials.token_cache(client.client_secret.clone()));
    manager.configure_client(client).map_err(HttpError::login_failed)?;
    let page = manager.get_authorization_url(&scopes).await.map_err(HttpError::login_failed)?;
    finish(credentials, browser.as_ref(), &manager, callback, &page).await
}

/// Finds the login server in the metadata of the server.
async fn discover(
    manager: &mut AuthorizationManager,
    challenge: &Challenge,
) -> Result<AuthorizationMetadata, HttpError> {
    let resolution = manager
        .resolve_metadata_from_challenge(challenge.header.as_deref())
        .await
        .map_err(HttpError::login_failed)?;
    if !resolution.source.is_discovered() {
        return Err(HttpError::LoginNeeded { hint: "It does not say where to log in.".to_owned() });
    }
    check(&resolution.metadata)?;
    manager.set_metadata(resolution.metadata.clone());
    Ok(resolution.metadata)
}

/// Checks that the login server is the configured one. Without one, the secret of a client is sent only to
/// the login server of the last login with that client.
fn check_issuer(
    credentials: &Credentials,
    metadata: &AuthorizationMetadata,
    before: Option<&StoredLogin>,
) -> Result<(), HttpError> {
    let pinned = match &credentials.settings.client {
        Some((id, Some(_))) => before.filter(|login| login.credentials.client_id == *id),
        _ => None,
    };
    let pinned = pinned.and_then(|login| login.credentials.issuer.as_deref());
    let Some(expected) = credentials.settings.issuer.as_deref().or(pinned) else { return Ok(()) };
    match metadata.issuer.as_deref() {
        Some(issuer) if is_same_issuer(issuer, expected) => Ok(()),
        issuer => Err(HttpError::login_failed(format!(
            "the server names the login server `{}`, but the login is for `{expected}`, and nothing was \
             sent. If you trust the other one, configure it as the issuer",
            issuer.unwrap_or("without a name")
        ))),
    }
}

/// Returns the scopes to ask for: those configured, or those that the server names. A login for more scopes
/// keeps the earlier ones.
async fn scopes(
    credentials: &Credentials,
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    challenge: &Challenge,
    before: Option<&StoredLogin>,
) -> Vec<String> {
    let configured = &credentials.settings.scopes;
    let mut scopes = match &challenge.scope {
        None if configured.is_empty() => return manager.select_initial_scopes(&[]).await,
        None => configured.clone(),
        Some(scope) => {
            let before = before.filter(|login| login.credentials.issuer == metadata.issuer);
            let granted = before.map(|login| login.credentials.granted_scopes.clone()).unwrap_or_default();
            let wanted = scope.split_whitespace().map(str::to_owned);
            configured.iter().cloned().chain(granted).chain(wanted).collect()
        }
    };
    if metadata.scopes_supported.as_ref().is_some_and(|all| all.iter().any(|scope| scope == OFFLINE)) {
        scopes.push(OFFLINE.to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

/// Returns the OAuth client: the configured one, our metadata document, or a newly registered one.
async fn client(
    credentials: &Credentials,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    scopes: &[&str],
) -> Result<OAuthClientConfig, HttpError> {
    if let Some((id, secret)) = &credentials.settings.client {
        return Ok(client_config(id.clone(), redirect_uri, secret.clone()));
    }
    let reads_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
    match &credentials.settings.client_metadata_url {
        Some(url) if reads_documents.is_some_and(|value| value.as_bool() == Some(true)) => {
            Ok(OAuthClientConfig::new(url, redirect_uri))
        }
        _ => manager.register_client(CLIENT_NAME, redirect_uri, scopes).await.map_err(|error| {
            HttpError::login_failed(format!(
                "{error}. If the login server does not register clients, configure one that it knows"
            ))
        }),
    }
}

/// Shows the page, waits for the code, and exchanges it for a token, which the manager saves in our store.
async fn finish(
    credentials: &Credentials,
    browser: &dyn Browser,
    manager: &AuthorizationManager,
    callback: Callback,
    page: &str,
) -> Result<(), HttpError> {
    let page = Url::parse(page).map_err(HttpError::login_failed)?;
    let state = page.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
    let state = state.ok_or_else(|| HttpError::login_failed("the login page has no state"))?;
    let limit = credentials.settings.timeout;
    let login = async {
        let answer = callback.answer(state.clone());
        let server = shown_place(credentials.server.as_str());
        let shown = browser.open(&server, &page);
        // The callback may arrive before the browser reports that it has shown the page.
        let (answer, ()) =
            futures::try_join!(async { answer.await.map_err(HttpError::login_failed) }, async {
                shown.await.map_err(HttpError::login_failed)
            },)?;
        Ok(answer)
    };
    let answer = tokio::time::timeout(limit, login).await;
    let answer = answer.unwrap_or_else(|_| {
        Err(HttpError::login_failed(format!("the login was not finished within {limit:?}")))
    })?;
    let issuer = answer.issuer.as_deref();
    let _renewal = credentials.login_lock.renewal.lock().await;
    manager
        .exchange_code_for_token_with_issuer(&answer.code, &state, issuer)
        .await
        .map_err(HttpError::login_failed)?;
    Ok(())
}
