//! Checks of the model: it is configured, has its key, and its provider can be reached.

use std::time::Duration;

use goose::config::Settings;
use goose_providers::{ChoiceReason, Lookup as _, ModelRef, is_here};
use tokio::{net::TcpStream, time::timeout};
use url::{Host, Url};

use super::Check;
use crate::{
    choice,
    local::{self, ModelStatus},
};

/// Time limit of a connection attempt.
const CONNECT_TIME: Duration = Duration::from_secs(3);

/// Providers that may be contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only those on this machine.
    ThisMachine,
    /// All.
    Everywhere,
}

pub(super) async fn check(settings: &Settings, reach: Reach) -> Vec<Check> {
    let registry = settings.registry();
    let mut checks: Vec<Check> = registry
        .problems()
        .iter()
        .map(|problem| Check::warning("custom provider", problem.to_string(), "correct or remove that file"))
        .collect();
    // An unreadable profile is reported by the check of the configuration.
    let Ok(profile) = settings.profile(None) else { return checks };
    let choice = match &profile.processor {
        Some(_) => None,
        None => choice::choose(settings).await,
    };
    let found_none = choice.as_ref().is_none_or(|choice| choice.reason == ChoiceReason::Embedded);
    if profile.processor.is_none() && found_none {
        checks.push(servers(settings));
    }
    let Some(model) = profile.processor.or_else(|| choice.as_ref().map(|it| it.model.clone())) else {
        checks.push(Check::bad("model", "no model is configured, and none was found", choice::WAYS));
        return checks;
    };
    let mut check = chosen(&model, settings);
    if let Some(choice) = choice {
        check.says = format!("{}; chosen by goose: {}", check.says, choice.reason);
    }
    checks.push(check);
    if registry.is_embedded(&model) {
        return checks;
    }
    let own = registry.custom().iter().find(|custom| Some(custom.name.as_str()) == model.provider());
    let address = own.map(|custom| custom.base_url.clone()).or_else(|| address(&model, settings));
    checks.push(provider(address, reach).await);
    checks
}

/// Lists the local servers that offered no model.
fn servers(settings: &Settings) -> Check {
    let asked = settings.registry().local_servers(settings);
    let asked: Vec<String> = asked.iter().map(|(name, address)| format!("{name} at {address}")).collect();
    Check::skipped("local servers", format!("none offers a model: {}", asked.join(", ")))
}

fn chosen(model: &ModelRef, settings: &Settings) -> Check {
    const NAME: &str = "model";
    let registry = settings.registry();
    if registry.is_embedded(model) {
        return local_model(model, settings);
    }
    let overrides = match settings.model_overrides() {
        Ok(overrides) => overrides,
        Err(error) => return Check::bad(NAME, error.to_string(), "correct or remove that value"),
    };
    match registry.provider(model, settings, &overrides) {
        Ok(provider) => {
            Check::good(NAME, format!("{model}, {} tokens of context", provider.model().context_limit))
        }
        Err(error) => {
            let fix = error.hint().unwrap_or_else(|| "run 'goose configure'".to_owned());
            Check::bad(NAME, format!("{model}: {error}"), fix)
        }
    }
}

/// Checks a local model.
fn local_model(model: &ModelRef, settings: &Settings) -> Check {
    match local::status(model, settings.paths()) {
        ModelStatus::Here(file) => Check::good("model", format!("{model}, in {file}; {}", local::GOOD_FOR)),
        ModelStatus::Absent(fix) => Check::warning("model", format!("{model} is not downloaded yet"), fix),
        ModelStatus::Broken(why, fix) => Check::bad("model", format!("{model}: {why}"), fix),
    }
}

/// Returns the address from the provider's settings.
fn address(model: &ModelRef, settings: &Settings) -> Option<String> {
    let info = settings.registry().info(model.provider()?)?;
    let is_address = |name: &str| ["_HOST", "_URL", "_ENDPOINT"].iter().any(|end| name.ends_with(end));
    let setting = info.settings.iter().find(|setting| is_address(&setting.name))?;
    // An unreadable value is reported by the check of the model.
    settings.value(&setting.name).ok()?.or_else(|| setting.default.clone())
}

async fn provider(address: Option<String>, reach: Reach) -> Check {
    const NAME: &str = "provider";
    let url = address.as_deref().and_then(parsed);
    let host_and_port = url.as_ref().and_then(|url| Some((url, url.host()?, url.port_or_known_default()?)));
    let Some((url, host, port)) = host_and_port else {
        return Check::skipped(NAME, "its address is only known when it is used");
    };
    let shown = format!("{host}:{port}");
    if reach == Reach::ThisMachine && !is_here(url) {
        return Check::skipped(NAME, format!("{shown} (not contacted; use --online)"));
    }
    let name = match &host {
        Host::Ipv6(address) => address.to_string(),
        other => other.to_string(),
    };
    match timeout(CONNECT_TIME, TcpStream::connect((name.as_str(), port))).await {
        Ok(Ok(_)) => Check::good(NAME, format!("{shown} is reachable")),
        Ok(Err(error)) => Check::bad(NAME, format!("{shown} cannot be reached: {error}"), FIX),
        Err(_) => Check::bad(
            NAME,
            format!("{shown} cannot be reached within {} seconds", CONNECT_TIME.as_secs()),
            FIX,
        ),
    }
}

/// Suggestion for an unreachable provider.
const FIX: &str = "start it, or check its address, the network and a proxy";

/// Parses an address with or without a scheme.
fn parsed(address: &str) -> Option<Url> {
    if address.contains("://") {
        Url::parse(address).ok()
    } else {
        Url::parse(&format!("http://{address}")).ok()
    }
}
