//! The model: whether one is chosen, whether its key is there, whether its service is reached.

use std::time::Duration;

use goose::config::Settings;
use goose_providers::{ChoiceReason, Lookup as _, ModelRef};
use tokio::{net::TcpStream, time::timeout};
use url::{Host, Url};

use super::check::Check;
use crate::{
    choice,
    local::{self, ModelStatus},
};

/// How long a service may take to be reached.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where goose looks for services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// On this machine only.
    ThisMachine,
    /// Everywhere.
    Everywhere,
}

pub(super) async fn look(settings: &Settings, reach: Reach) -> Vec<Check> {
    let registry = settings.registry();
    let mut checks: Vec<Check> = registry
        .problems()
        .iter()
        .map(|problem| {
            Check::warning("custom provider", problem.to_string(), "correct that file, or remove it")
        })
        .collect();
    // Where the profile cannot be read, the check of the configuration says so.
    let Ok(profile) = settings.profile(None) else { return checks };
    let choice = match &profile.processor {
        Some(_) => None,
        None => choice::choose(settings).await,
    };
    let found_nobody = choice.as_ref().is_none_or(|choice| choice.reason == ChoiceReason::Embedded);
    if profile.processor.is_none() && found_nobody {
        checks.push(servers(settings));
    }
    let Some(model) = profile.processor.or_else(|| choice.as_ref().map(|it| it.model.clone())) else {
        checks.push(Check::bad("model", "no model is chosen, and none is found", choice::WAYS));
        return checks;
    };
    let mut check = chosen(&model, settings);
    if let Some(choice) = choice {
        check.says = format!("{}; goose chose it: {}", check.says, choice.reason);
    }
    checks.push(check);
    if registry.is_embedded(&model) {
        return checks;
    }
    let own = registry.custom().iter().find(|custom| Some(custom.name.as_str()) == model.provider());
    let address = own.map(|custom| custom.base_url.clone()).or_else(|| address(&model, settings));
    checks.push(service(address, reach).await);
    checks
}

/// Those that were asked whether they have a model, and did not answer.
fn servers(settings: &Settings) -> Check {
    let asked = settings.registry().local_servers(settings);
    let asked: Vec<String> = asked.iter().map(|(name, address)| format!("{name} at {address}")).collect();
    Check::skipped("local servers", format!("nobody answers with a model: {}", asked.join(", ")))
}

fn chosen(model: &ModelRef, settings: &Settings) -> Check {
    const NAME: &str = "model";
    let registry = settings.registry();
    if registry.is_embedded(model) {
        return inside(model, settings);
    }
    let overrides = match settings.model_overrides() {
        Ok(overrides) => overrides,
        Err(error) => return Check::bad(NAME, error.to_string(), "correct that value, or remove it"),
    };
    match registry.provider(model, settings, &overrides) {
        Ok(provider) => {
            Check::good(NAME, format!("{model}, {} tokens of context", provider.model().context_limit))
        }
        Err(error) => {
            let mend = error.hint().unwrap_or_else(|| "run 'goose configure'".to_owned());
            Check::bad(NAME, format!("{model}: {error}"), mend)
        }
    }
}

/// The model inside goose.
fn inside(model: &ModelRef, settings: &Settings) -> Check {
    match local::status(model, settings.paths()) {
        ModelStatus::Here(file) => Check::good("model", format!("{model}, in {file}; {}", local::GOOD_FOR)),
        ModelStatus::Absent(mend) => {
            Check::warning("model", format!("{model}, which isn't downloaded yet"), mend)
        }
        ModelStatus::Broken(why, mend) => Check::bad("model", format!("{model}: {why}"), mend),
    }
}

/// The address among the settings of a service.
fn address(model: &ModelRef, settings: &Settings) -> Option<String> {
    let info = settings.registry().info(model.provider()?)?;
    let is_address = |name: &str| ["_HOST", "_URL", "_ENDPOINT"].iter().any(|end| name.ends_with(end));
    let setting = info.settings.iter().find(|setting| is_address(&setting.name))?;
    // One that cannot be read is what the check of the model says.
    settings.value(&setting.name).ok()?.or_else(|| setting.default.clone())
}

async fn service(address: Option<String>, reach: Reach) -> Check {
    const NAME: &str = "service";
    let url = address.as_deref().and_then(parsed);
    let (Some(host), Some(port)) =
        (url.as_ref().and_then(Url::host), url.as_ref().and_then(Url::port_or_known_default))
    else {
        return Check::skipped(NAME, "its address is not known before it is asked");
    };
    let shown = format!("{host}:{port}");
    if reach == Reach::ThisMachine && !is_here(&host) {
        return Check::skipped(NAME, format!("{shown} (not asked; --online does)"));
    }
    let name = match &host {
        Host::Ipv6(address) => address.to_string(),
        other => other.to_string(),
    };
    match timeout(PATIENCE, TcpStream::connect((name.as_str(), port))).await {
        Ok(Ok(_)) => Check::good(NAME, format!("{shown} is reached")),
        Ok(Err(error)) => Check::bad(NAME, format!("{shown} cannot be reached: {error}"), MEND),
        Err(_) => {
            Check::bad(NAME, format!("{shown} cannot be reached within {} seconds", PATIENCE.as_secs()), MEND)
        }
    }
}

/// What to do about a service that is not there.
const MEND: &str = "start it, or check its address, the network and a proxy";

/// An address with or without its scheme.
fn parsed(address: &str) -> Option<Url> {
    if address.contains("://") {
        Url::parse(address).ok()
    } else {
        Url::parse(&format!("http://{address}")).ok()
    }
}

fn is_here(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    }
}
