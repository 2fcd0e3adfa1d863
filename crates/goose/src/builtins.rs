//! The registry of extensions that come with goose: their names, their classes, and how to build those that exist.
//!
//! Everything that lists built-ins reads it here. Services live in `goose-mcp`; extensions of the other classes need
//! sessions or models and belong to this crate. Some of those are also served without a session, by `goose mcp`: the rest
//! says why not.

use std::sync::Arc;

use goose_extension::Extension;
use goose_mcp::Settings;

/// The part an extension plays, which decides who may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExtensionClass {
    /// Any mode may use it, through its name or through the group `mcp`. Extensions of the user are services.
    Service,
    /// It belongs to the orchestrator.
    OrchestratorOwned,
    /// It belongs to the modes that name it.
    ModeBound,
    /// It reaches other tools itself.
    Meta,
}

/// An extension that comes with goose.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Builtin {
    /// The name in configurations and on command lines.
    pub name: &'static str,
    /// Its class.
    pub class: ExtensionClass,
    /// Its purpose, in a few words.
    pub summary: &'static str,
    /// The reason why it works only in a session, and what to use instead.
    pub needs_session: Option<&'static str>,
    service: Option<&'static goose_mcp::Builtin>,
    is_platform: bool,
}

impl Builtin {
    /// Returns true for an extension that needs a session or a model and is built for each agent.
    pub fn is_platform(&self) -> bool {
        self.is_platform
    }

    /// Returns true for a platform extension that modes have unless the configuration switches it off.
    pub fn comes_with_agents(&self) -> bool {
        self.is_platform && self.class != ExtensionClass::Meta
    }

    /// Builds the extension, where that needs no session.
    pub fn build(&self, settings: &Settings) -> Option<Arc<dyn Extension>> {
        self.service.map(|service| service.build(settings))
    }

    const fn platform(name: &'static str, class: ExtensionClass, summary: &'static str) -> Self {
        Self { name, class, summary, needs_session: None, service: None, is_platform: true }
    }

    const fn only_in_sessions(mut self, reason: &'static str) -> Self {
        self.needs_session = Some(reason);
        self
    }
}

/// Services that goose is going to have. Their names are taken, and modes that depend on them work without.
const PLANNED: [&str; 2] = ["computercontroller", "autovisualiser"];

/// The extensions of this crate.
const PLATFORM: &[Builtin] = &[
    Builtin::platform("summon", ExtensionClass::OrchestratorOwned, "delegation and knowledge"),
    Builtin::platform(
        "extensionmanager",
        ExtensionClass::OrchestratorOwned,
        "extensions, switched on demand",
    )
    .only_in_sessions(
        "it switches the extensions of a running agent. `goose extension list` shows those that there are",
    ),
    Builtin::platform("chatrecall", ExtensionClass::OrchestratorOwned, "recall from earlier sessions"),
    Builtin::platform("tom", ExtensionClass::OrchestratorOwned, "top-of-mind context for each request")
        .only_in_sessions("it has no tools; it adds text to the requests of goose itself"),
    Builtin::platform("apps", ExtensionClass::ModeBound, "small apps with a user interface"),
    Builtin::platform("todo", ExtensionClass::ModeBound, "a list of tasks for the session").only_in_sessions(
        "its list is a part of goose's conversation. `developer` has the same tool as `plan`",
    ),
    Builtin::platform("code_execution", ExtensionClass::Meta, "tool calls from code").only_in_sessions(
        "it calls the tools of a running agent. Enable it in the configuration to use it in a session",
    ),
];

/// All extensions that come with goose.
pub fn all() -> impl Iterator<Item = Builtin> {
    let service = |service: &'static goose_mcp::Builtin| Builtin {
        name: service.name,
        class: ExtensionClass::Service,
        summary: service.summary,
        needs_session: None,
        service: Some(service),
        is_platform: false,
    };
    goose_mcp::BUILTINS.iter().map(service).chain(PLATFORM.iter().copied())
}

/// The services: what the pool runs.
pub fn services() -> impl Iterator<Item = Builtin> {
    all().filter(|builtin| !builtin.is_platform)
}

/// The extensions that are built for each agent.
pub fn platform() -> impl Iterator<Item = Builtin> {
    PLATFORM.iter().copied()
}

/// The service of a name.
pub fn find(name: &str) -> Option<Builtin> {
    services().find(|builtin| builtin.name == name)
}

/// Returns true for a service that goose does not have yet.
pub fn is_planned(name: &str) -> bool {
    PLANNED.contains(&name)
}

/// The class of one of goose's own extensions. Those that a program brings along are services.
pub fn class_of(name: &str) -> ExtensionClass {
    all().find(|builtin| builtin.name == name).map_or(ExtensionClass::Service, |builtin| builtin.class)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_services_can_be_built() {
        let mut names = HashSet::new();
        for builtin in all() {
            assert!(names.insert(builtin.name), "{} is there twice", builtin.name);
            assert_eq!(builtin.is_platform(), builtin.class != ExtensionClass::Service, "{builtin:?}");
            assert!(!is_planned(builtin.name));
        }
        assert_eq!(class_of("developer"), ExtensionClass::Service);
        assert_eq!(class_of("todo"), ExtensionClass::ModeBound);
        assert_eq!(class_of("not-a-builtin"), ExtensionClass::Service);
        assert!(find("memory").is_some() && find("todo").is_none());
    }
}
