//! [`ServiceBindings`]: the services that a mode is bound to when it becomes active, and its missing
//! dependencies.

use std::{fmt, sync::Arc};

use super::manifest::{ALL_SERVICES, AgentManifest, AgentMode};
use crate::{builtins::PlatformExtension, config::ExtensionConfig};

/// A dependency of a mode that was not found. The mode works without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedService {
    /// Name of the dependency.
    pub name: String,
    /// Reason why it is missing.
    pub reason: UnresolvedReason,
}

/// Reason for a missing dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnresolvedReason {
    /// It is disabled in the configuration.
    SwitchedOff,
    /// The protocol of the external agent does not support it.
    NoPlace,
    /// Neither an extension nor an agent has the name.
    Unknown,
}

impl UnresolvedService {
    /// Returns true if the user can fix it and has not disabled it.
    pub fn is_worth_telling(&self) -> bool {
        matches!(self.reason, UnresolvedReason::Unknown | UnresolvedReason::NoPlace)
    }
}

impl fmt::Display for UnresolvedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason } = self;
        match reason {
            UnresolvedReason::SwitchedOff => {
                write!(
                    f,
                    "`{name}` is switched off; set 'enabled: true' under 'extensions:' in config.yaml to use it"
                )
            }
            UnresolvedReason::NoPlace => write!(
                f,
                "`{name}` cannot be given to the agent, whose protocol has no place for services; take it out of the agent"
            ),
            UnresolvedReason::Unknown => write!(
                f,
                "no extension or agent is called `{name}`; add it under 'extensions:' in config.yaml, or take it out of the agent"
            ),
        }
    }
}

/// Result of resolving the dependencies of a mode.
#[derive(Debug, Clone, Default)]
pub struct ServiceBindings {
    /// Services of the pool, as configurations.
    pub services: Vec<ExtensionConfig>,
    /// Platform extensions, to be built for the agent.
    pub platform: Vec<&'static PlatformExtension>,
    /// Other agents, each offered as an extension with one tool.
    pub agents: Vec<Arc<AgentManifest>>,
    /// Dependencies that were not found.
    pub unresolved: Vec<UnresolvedService>,
}

impl ServiceBindings {
    /// Returns true if a mode with these services may use a platform extension.
    pub(crate) fn may_use(&self, mode: &AgentMode, extension: &PlatformExtension) -> bool {
        mode.has_group(extension.name)
            || (extension.comes_with_commands && mode.can_run_commands())
            || (extension.comes_with_services && mode.has_group(ALL_SERVICES))
            || (extension.comes_with_servers && self.services.iter().any(|config| !config.is_own()))
    }

    /// Returns true if an extension of the name is bound.
    pub fn has(&self, name: &str) -> bool {
        let is_service = self.services.iter().any(|config| config.key() == name);
        let is_agent = self.agents.iter().any(|agent| agent.name == name);
        is_service || is_agent || self.platform.iter().any(|builtin| builtin.name == name)
    }
}
