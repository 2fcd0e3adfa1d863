//! A login through the browser: find the login server, be known to it, show its page, take the answer, get a token.

use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};
use url::Url;

use super::{
    account::{Account, failed, is_same_issuer},
    addresses::check,
    browser::Browser,
    callback::Callback,
    challenge::Challenge,
    store::StoredLogin,
};
use crate::client::http::{self, HttpError};

/// What we call ourselves.
const CLIENT_NAME: &str = "goose";

/// The scope that gives tokens which can be renewed.
const OFFLINE: &str = "offline_access";

/// # Errors
///
/// Nobody can be asked; the server has no login server, or an unsafe one; the person or the login server refused.
pub(super) async fn through_browser(account: &Account, challenge: &Challenge) -> Result<(), HttpError> {
    let Some(browser) = &account.settings.browser else { return Err(challenge.unseen()) };
    let before = account.load().await?;
    let mut manager = account.manager(None).await.map_err(failed)?;
    let metadata = discover(&mut manager, challenge).await?;
    check_issuer(account, &metadata, before.as_ref())?;
    let callback = Callback::listen(account.settings.redirect_port).await;
    let callback = callback.map_err(|error| failed(format!("no port for the browser's answer: {error}")))?;
    let scopes = scopes(account, &manager, &metadata, challenge, before.as_ref()).await;
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = client(account, &mut manager, &metadata, &callback.redirect_uri(), &scopes).await?;
    manager.set_credential_store(account.shelf(client.client_secret.clone()));
    manager.configure_client(client).map_err(failed)?;
    let page = manager.get_authorization_url(&scopes).await.map_err(failed)?;
    finish(account, browser.as_ref(), &manager, callback, &page).await
}

/// Finds the login server in what the server says about it.
async fn discover(
    manager: &mut AuthorizationManager,
    challenge: &Challenge,
) -> Result<AuthorizationMetadata, HttpError> {
    let resolution =
        manager.resolve_metadata_from_challenge(challenge.header.as_deref()).await.map_err(failed)?;
    if !resolution.source.is_discovered() {
        return Err(HttpError::LoginNeeded { hint: "It does not say where to log in.".to_owned() });
    }
    check(&resolution.metadata)?;
    manager.set_metadata(resolution.metadata.clone());
    Ok(resolution.metadata)
}

/// The login server is the one that was configured. Where none was, a client's secret goes only to the one that the
/// last login with it was at.
fn check_issuer(
    account: &Account,
    metadata: &AuthorizationMetadata,
    before: Option<&StoredLogin>,
) -> Result<(), HttpError> {
    let pinned = match &account.settings.client {
        Some((id, Some(_))) => before.filter(|login| login.credentials.client_id == *id),
        _ => None,
    };
    let pinned = pinned.and_then(|login| login.credentials.issuer.as_deref());
    let Some(expected) = account.settings.issuer.as_deref().or(pinned) else { return Ok(()) };
    match metadata.issuer.as_deref() {
        Some(issuer) if is_same_issuer(issuer, expected) => Ok(()),
        issuer => Err(failed(format!(
            "the server names the login server `{}`, but the login is for `{expected}`, and nothing was sent. If you \
             trust the other one, configure it as the issuer",
            issuer.unwrap_or("without a name")
        ))),
    }
}

/// What to ask for: what was configured, or what the server names. A wider login keeps what the one before has.
async fn scopes(
    account: &Account,
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    challenge: &Challenge,
    before: Option<&StoredLogin>,
) -> Vec<String> {
    let configured = &account.settings.scopes;
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

/// As whom we ask: as the client that was configured, by our document, or registered just now.
async fn client(
    account: &Account,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    scopes: &[&str],
) -> Result<OAuthClientConfig, HttpError> {
    if let Some((id, secret)) = &account.settings.client {
        let client = OAuthClientConfig::new(id, redirect_uri);
        return Ok(match secret {
            Some(secret) => client.with_client_secret(secret),
            None => client,
        });
    }
    let reads_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
    match &account.settings.client_metadata_url {
        Some(url) if reads_documents.is_some_and(|value| value.as_bool() == Some(true)) => {
            Ok(OAuthClientConfig::new(url, redirect_uri))
        }
        _ => manager.register_client(CLIENT_NAME, redirect_uri, scopes).await.map_err(|error| {
            failed(format!(
                "{error}. Where the login server registers nobody, configure a client that it knows"
            ))
        }),
    }
}

/// Shows the page, waits for the answer, and trades it for a token, which the manager keeps in our store.
async fn finish(
    account: &Account,
    browser: &dyn Browser,
    manager: &AuthorizationManager,
    callback: Callback,
    page: &str,
) -> Result<(), HttpError> {
    let page = Url::parse(page).map_err(failed)?;
    let state = page.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
    let state = state.ok_or_else(|| failed("the login page has no state"))?;
    let limit = account.settings.timeout;
    let login = async {
        let answer = callback.answer(state.clone());
        let server = http::shown(&account.server);
        let shown = browser.open(&server, &page);
        // The answer may come before the browser says that it has shown the page.
        let (answer, ()) = futures::try_join!(async { answer.await.map_err(failed) }, async {
            shown.await.map_err(failed)
        },)?;
        Ok(answer)
    };
    let answer = tokio::time::timeout(limit, login).await;
    let answer = answer.unwrap_or_else(|_| Err(failed(format!("nobody logged in within {limit:?}"))))?;
    let issuer = answer.issuer.as_deref();
    let _renewal = account.gate.renewal().await;
    manager.exchange_code_for_token_with_issuer(&answer.code, &state, issuer).await.map_err(failed)?;
    Ok(())
}
