//! The registry of extensions that come with goose: their names, their classes, and how to build those that exist.
//!
//! Everything that lists built-ins reads it here. Services live in `goose-mcp`; extensions of the other classes need
//! sessions or models and belong to this crate.

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
    service: Option<&'static goose_mcp::Builtin>,
}

impl Builtin {
    /// Whether this version of goose can build it.
    pub fn is_available(&self) -> bool {
        self.service.is_some()
    }

    /// Builds the extension, where this version of goose can.
    pub fn build(&self, settings: &Settings) -> Option<Arc<dyn Extension>> {
        self.service.map(|service| service.build(settings))
    }

    const fn platform(name: &'static str, class: ExtensionClass, summary: &'static str) -> Self {
        Self { name, class, summary, service: None }
    }
}

/// The extensions of this crate. None can be built yet; their names are taken.
const PLATFORM: &[Builtin] = &[
    Builtin::platform("summon", ExtensionClass::OrchestratorOwned, "delegation and knowledge"),
    Builtin::platform(
        "extensionmanager",
        ExtensionClass::OrchestratorOwned,
        "extensions, switched on demand",
    ),
    Builtin::platform("chatrecall", ExtensionClass::OrchestratorOwned, "recall from earlier sessions"),
    Builtin::platform("tom", ExtensionClass::OrchestratorOwned, "top-of-mind context for each request"),
    Builtin::platform("apps", ExtensionClass::ModeBound, "small apps with a user interface"),
    Builtin::platform("todo", ExtensionClass::ModeBound, "a list of tasks for the session"),
    Builtin::platform("code_execution", ExtensionClass::Meta, "tool calls from code"),
];

/// All extensions that come with goose.
pub fn all() -> impl Iterator<Item = Builtin> {
    let service = |service: &'static goose_mcp::Builtin| Builtin {
        name: service.name,
        class: ExtensionClass::Service,
        summary: service.summary,
        service: Some(service),
    };
    goose_mcp::BUILTINS.iter().map(service).chain(PLATFORM.iter().copied())
}

/// The extensions that this version of goose can build.
pub fn available() -> impl Iterator<Item = Builtin> {
    all().filter(Builtin::is_available)
}

/// The available extension of a name.
pub fn find(name: &str) -> Option<Builtin> {
    available().find(|builtin| builtin.name == name)
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
            assert_eq!(builtin.is_available(), builtin.class == ExtensionClass::Service, "{builtin:?}");
        }
        assert_eq!(class_of("developer"), ExtensionClass::Service);
        assert_eq!(class_of("todo"), ExtensionClass::ModeBound);
        assert_eq!(class_of("not-a-builtin"), ExtensionClass::Service);
        assert!(find("memory").is_some() && find("todo").is_none());
    }
}
