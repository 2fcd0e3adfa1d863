//! The services that can be chosen: those that goose knows, and the user's own.

use anyhow::anyhow;
use goose::config::Settings;
use goose_providers::{ModelOverrides, ModelRef, ProviderInfo, Registry};

use crate::{aside, local, visible};

/// All services, and the model inside goose.
pub(super) struct Services {
    registry: Registry,
    inside: Option<ProviderInfo>,
}

impl Services {
    /// Reads the user's own; what cannot be read is said.
    pub(super) fn load(settings: &Settings) -> Self {
        let custom = settings.custom_providers();
        for problem in &custom.problems {
            aside::line(format_args!("Left out: {}", visible::text(&problem.to_string())));
        }
        Self { registry: Registry::new(custom.providers), inside: local::info() }
    }

    pub(super) fn known(&self) -> impl Iterator<Item = &ProviderInfo> {
        self.inside.iter().chain(self.registry.known())
    }

    /// The service of that name. The error says what was perhaps meant.
    pub(super) fn find(&self, name: &str) -> anyhow::Result<&ProviderInfo> {
        let inside = self.inside.as_ref().filter(|info| info.name == name.trim());
        inside.or_else(|| self.registry.info(name)).ok_or_else(|| {
            let nothing = std::collections::BTreeMap::new();
            let asked =
                self.registry.provider(&ModelRef::new(name, "any"), &nothing, &ModelOverrides::default());
            match asked.err() {
                Some(error) => match error.hint() {
                    Some(hint) => anyhow!("{error}; {hint}"),
                    None => anyhow!("{error}"),
                },
                None => anyhow!("there is no provider `{name}`"),
            }
        })
    }
}
