//! `goose configure login`: keys by a login, in the browser of this machine or with a code. Ctrl-C ends goose, and
//! keeps nothing.

use std::{process::ExitCode, time::Duration};

use anyhow::{anyhow, bail};
use goose::config::{ConfigEditor, Secret, Settings};
use goose_mcp_bridge::{Callback, SystemBrowser};
use goose_providers::{BrowserLogin, DeviceLogin, LoginError, LoginMethod, Lookup, Registry};
use url::Url;

use super::{
    args::LoginArgs,
    choices::{find_provider, load_providers},
    keys,
};
use crate::{escape, output::say, runtime::new_runtime, stderr};

/// Time in which the browser gets the last page.
const PAGE_TIME: Duration = Duration::from_millis(200);

/// Runs `goose configure login`.
pub(super) fn run(args: &LoginArgs, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<ExitCode> {
    let registry = load_providers(settings);
    let (configured, _) = settings.configured_model()?;
    let Some(name) = args.provider.as_ref().or(configured.as_ref()) else {
        bail!("No provider is given or configured. Providers with a login: {}.", with_login(registry));
    };
    let provider = find_provider(registry, name)?;
    let (Some(method), Some(variable)) = (provider.login, provider.key_variables.first()) else {
        bail!(
            "{} has no login that goose knows. Providers with one: {}.",
            provider.display_name,
            with_login(registry)
        );
    };
    let key = log_in(method, settings, Duration::from_secs(args.timeout.into()))?;
    let place = keys::store(settings, variable, &key, args.key_store)?;
    say(&format!("Stored {variable} in {place}."))?;
    if configured.is_none() {
        editor.set_model(&provider.name, provider.default_model.as_deref())?;
        say(&format!("GOOSE_PROVIDER is {}.", provider.name))?;
    } else if configured.as_ref() != Some(&provider.name) {
        stderr::line(format_args!("To use it: goose configure --provider {}", provider.name));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the names of the providers with a login.
fn with_login(registry: &Registry) -> String {
    let names = registry.known().iter().filter(|info| info.login.is_some());
    names.map(|info| info.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Lets the user log in, and returns the key.
///
/// # Errors
///
/// No key was received within the time limit.
pub(super) fn log_in(method: LoginMethod, lookup: &dyn Lookup, limit: Duration) -> anyhow::Result<Secret> {
    let login = async {
        match method {
            LoginMethod::Browser => in_browser(lookup).await,
            LoginMethod::Device => with_code(lookup).await,
        }
    };
    let limited = async { tokio::time::timeout(limit, login).await };
    new_runtime()?.block_on(limited).unwrap_or_else(|_| {
        Err(anyhow!("The login was not finished within {} seconds. Nothing was stored.", limit.as_secs()))
    })
}

async fn in_browser(lookup: &dyn Lookup) -> anyhow::Result<Secret> {
    let login = BrowserLogin::new(lookup).map_err(explained)?;
    let callback = Callback::listen(0).await;
    let callback = callback.map_err(|error| anyhow!("No port for the browser's answer: {error}"))?;
    let page = login.page(&callback.redirect_uri_with_state(login.state()));
    stderr::line("Log in with your browser. If none opens, open this address on this machine:");
    stderr::line(escape::line(page.as_str()));
    stderr::line("Waiting for the login. Ctrl-C cancels.");
    let (answer, ()) = tokio::join!(callback.answer(login.state().to_owned()), show(&page));
    let code = match answer {
        Ok(answer) => answer.code,
        Err(reason) => {
            tokio::time::sleep(PAGE_TIME).await;
            bail!("The login failed: {}. Nothing was stored.", escape::line(&reason.to_string()));
        }
    };
    let key = login.key(&code).await.map_err(explained)?;
    Ok(Secret::new(key.expose()))
}

async fn with_code(lookup: &dyn Lookup) -> anyhow::Result<Secret> {
    let login = DeviceLogin::begin(lookup).await.map_err(explained)?;
    stderr::line(format_args!(
        "Open {} in a browser, on any machine, and enter the code {}",
        escape::line(login.page().as_str()),
        login.code()
    ));
    stderr::line("Waiting for the login. Ctrl-C cancels.");
    let token = login.token().await.map_err(explained)?;
    if let Some(lasts) = token.lasts {
        stderr::line(format_args!(
            "The token is valid for {} minutes. Log in again after that.",
            lasts.as_secs() / 60
        ));
    }
    Ok(Secret::new(token.key.expose()))
}

/// Opens the browser. The address is on the screen, so a failure only needs to be named.
async fn show(page: &Url) {
    if let Err(error) = SystemBrowser.show(page).await {
        stderr::line(format_args!("The browser could not be opened: {}", escape::line(&error.to_string())));
    }
}

fn explained(error: LoginError) -> anyhow::Error {
    let Some(hint) = error.hint() else { return anyhow!("{}", escape::line(&error.to_string())) };
    // Those of a service that is not reached are sentences.
    let joint = if hint.starts_with(char::is_uppercase) { "." } else { ";" };
    anyhow!("{}", escape::line(&format!("{error}{joint} {hint}")))
}
