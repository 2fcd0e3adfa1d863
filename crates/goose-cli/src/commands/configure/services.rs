//! The services that can be chosen.

use anyhow::anyhow;
use goose::config::Settings;
use goose_providers::{ModelOverrides, ModelRef, ProviderInfo, Registry};

use crate::{aside, visible};

/// Returns all services. Descriptions of the user's own that cannot be read are named.
pub(super) fn load(settings: &Settings) -> &Registry {
    let registry = settings.registry();
    for problem in registry.problems() {
        aside::line(format_args!("Left out: {}", visible::text(&problem.to_string())));
    }
    registry
}

/// Finds a service by its name. The error says what was perhaps meant.
pub(super) fn find<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r ProviderInfo> {
    registry.info(name).ok_or_else(|| {
        let nothing = std::collections::BTreeMap::new();
        match registry.provider(&ModelRef::new(name, "any"), &nothing, &ModelOverrides::default()) {
            Err(error) => match error.hint() {
                Some(hint) => anyhow!("{error}; {hint}"),
                None => anyhow!("{error}"),
            },
            Ok(_) => anyhow!("there is no provider `{name}`"),
        }
    })
}
