//! The providers and modes that can be chosen.

use anyhow::{anyhow, bail};
use goose::config::Settings;
use goose_providers::{ModelOverrides, ModelRef, ProviderInfo, Registry};

use crate::{escape, stderr};

/// Each mode and its meaning.
pub(crate) const MODES: [(&str, &str); 4] = [
    ("auto", "works without asking, except where a rule says so"),
    ("smart_approve", "reads without asking, and asks before it changes anything"),
    ("approve", "asks before each tool call"),
    ("chat", "only talks; it has no tools"),
];

/// Finds a mode by its name; `-` and `_` are interchangeable.
pub(super) fn find_mode(name: &str) -> anyhow::Result<&'static str> {
    let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
    match MODES.iter().find(|(mode, _)| *mode == wanted) {
        Some((mode, _)) => Ok(mode),
        None => {
            let names: Vec<&str> = MODES.iter().map(|(mode, _)| *mode).collect();
            bail!("'{}' is not a valid mode. Use one of {}.", name.escape_debug(), names.join(", "))
        }
    }
}

/// Returns all providers, and reports custom ones that cannot be read.
pub(super) fn load_providers(settings: &Settings) -> &Registry {
    let registry = settings.registry();
    for problem in registry.problems() {
        stderr::line(format_args!("Ignored: {}", escape::text(&problem.to_string())));
    }
    registry
}

/// Finds a provider by its name. The error suggests similar names.
pub(super) fn find_provider<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r ProviderInfo> {
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
