//! [`ServiceBroker`]: resolves the dependencies of a mode to services. It starts none of them.
//!
//! Each dependency is looked up in this order: extensions of the program or the command line, the user's
//! configuration (`enabled: false` excludes it), the built-in extension of that name, another agent. A
//! dependency that is not found is reported by name. A mode gets only the services that it can use, so
//! nothing else is started.

use std::sync::Arc;

use crate::{
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
        service_binding::{ServiceBindings, UnresolvedReason, UnresolvedService},
    },
    builtins::{self, PlatformExtension},
    config::{ConfigError, ConfiguredExtension, ExtensionConfig, Profile, Settings},
};

/// Finds the services of a mode.
pub(super) struct ServiceBroker<'a> {
    pub(super) settings: &'a Settings,
    /// Profile, without the host program's extensions.
    pub(super) profile: &'a Profile,
    /// Extensions of the command line. They win over the profile's.
    pub(super) given: &'a [ExtensionConfig],
    /// Names of the host program's extensions.
    pub(super) host: &'a [&'a str],
    /// Extensions that a host extension requires.
    pub(super) required: &'a [&'a str],
    /// Returns all agents. Called only if nothing else has the name.
    pub(super) agents: &'a dyn Fn() -> Arc<AgentCatalog>,
}

impl ServiceBroker<'_> {
    /// Returns the services of a mode.
    ///
    /// # Errors
    ///
    /// Fails if the profile names extensions that do not exist or that conflict.
    pub(super) fn resolve(&self, mode: &AgentMode) -> Result<ServiceBindings, ConfigError> {
        for config in self.given {
            config.check()?;
        }
        let mut profile = self.profile.clone();
        profile.extensions.retain(|it| {
            let is_given = self.given.iter().any(|config| config.key() == it.name);
            !is_given
                && builtins::find(&it.name)
                    .is_none_or(|_| self.entry(&it.name).is_some_and(|entry| !entry.is_switch()))
        });
        let mut services = self.settings.profile_extensions(&profile)?;
        services.extend(self.given.iter().cloned());
        services.retain(|config| {
            let name = config.key();
            mode.can_use(&name, config.is_own()) || self.required.contains(&name.as_str())
        });
        let mut found = ServiceBindings { services, ..ServiceBindings::default() };
        for dependency in &mode.dependencies {
            self.add_dependency(dependency.name(), &mut found);
        }
        self.add_platform(mode, &mut found);
        Ok(found)
    }

    /// Adds a dependency, unless it was already added.
    fn add_dependency(&self, name: &str, found: &mut ServiceBindings) {
        if found.has(name)
            || self.host.contains(&name)
            || builtins::find(name).is_some()
            || !self.profile.adds_dependencies
        {
            return;
        }
        let unresolved = |reason| UnresolvedService { name: name.to_owned(), reason };
        match (self.entry(name), self.settings.builtin(name)) {
            (Some(entry), _) if !entry.enabled => {
                found.unresolved.push(unresolved(UnresolvedReason::SwitchedOff));
            }
            (None, Some(builtin)) => {
                found.services.push(ExtensionConfig::builtin(builtin.name));
            }
            _ => match self.agent(name) {
                Some(agent) => found.agents.push(agent),
                None => found.unresolved.push(unresolved(UnresolvedReason::Unknown)),
            },
        }
    }

    fn agent(&self, name: &str) -> Option<Arc<AgentManifest>> {
        let catalog = (self.agents)();
        let mut agents = catalog.agents.iter();
        let entry = agents.find(|entry| entry.manifest.name == name && !entry.is_internal())?;
        Some(Arc::clone(&entry.manifest))
    }

    /// Adds the platform extensions that the mode can use and that are not disabled.
    fn add_platform(&self, mode: &AgentMode, found: &mut ServiceBindings) {
        for builtin in builtins::platform() {
            if found.has(builtin.name) || self.host.contains(&builtin.name) || !found.may_use(mode, builtin) {
                continue;
            }
            match self.is_switched_on(builtin) {
                true => found.platform.push(builtin),
                false if mode.depends_on(builtin.name) => found.unresolved.push(UnresolvedService {
                    name: builtin.name.to_owned(),
                    reason: UnresolvedReason::SwitchedOff,
                }),
                false => {}
            }
        }
    }

    fn is_switched_on(&self, builtin: &PlatformExtension) -> bool {
        let is_listed = self.profile.extensions.iter().any(|it| it.name == builtin.name);
        match self.entry(builtin.name) {
            Some(entry) => entry.enabled && (self.profile.adds_dependencies || is_listed),
            None => is_listed || (self.profile.adds_dependencies && builtin.comes_with_agents()),
        }
    }

    fn entry(&self, name: &str) -> Option<&ConfiguredExtension> {
        self.settings.extensions().iter().find(|entry| entry.is_called(name))
    }
}
