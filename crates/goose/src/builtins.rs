//! The platform extensions: their names and classes.
//!
//! They need sessions or models, so they are part of this crate. Some can also be served without a session,
//! by `goose mcp`; the others state why not. Built-in services are not here: the program registers them, see
//! [`Builtin`](goose_extension::Builtin).

/// Role of an extension, which decides which modes may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExtensionClass {
    /// Any mode may use it, by its name or through the group `mcp`. The user's extensions are services.
    Service,
    /// Belongs to the orchestrator.
    OrchestratorOwned,
    /// Belongs to the modes that name it.
    ModeBound,
    /// Calls other tools itself.
    Meta,
}

/// Extension of goose that needs a session or a model and is built for each agent.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct PlatformExtension {
    /// Name in configurations and on command lines.
    pub name: &'static str,
    /// Role of the extension.
    pub class: ExtensionClass,
    /// Purpose, in a few words.
    pub summary: &'static str,
    /// Reason why it works only in a session, with an alternative.
    pub needs_session: Option<&'static str>,
    /// True if modes that run commands have it without naming it.
    pub comes_with_commands: bool,
    /// True if modes with all services have it without naming it.
    pub comes_with_services: bool,
    /// True if modes with an MCP server have it without naming it.
    pub comes_with_servers: bool,
}

impl PlatformExtension {
    /// Returns true if modes have it unless the configuration switches it off.
    pub fn comes_with_agents(&self) -> bool {
        self.class != ExtensionClass::Meta
    }

    const fn new(name: &'static str, class: ExtensionClass, summary: &'static str) -> Self {
        Self {
            name,
            class,
            summary,
            needs_session: None,
            comes_with_commands: false,
            comes_with_services: false,
            comes_with_servers: false,
        }
    }
}

/// Services that goose will have. Their names are reserved, and modes that name them work without them.
const PLANNED: [&str; 1] = ["autovisualiser"];

/// Extensions of this crate.
const PLATFORM: &[PlatformExtension] = &[
    PlatformExtension {
        // Its tool `load` comes with the services, and `delegate` only with modes that can run commands.
        comes_with_commands: true,
        comes_with_services: true,
        ..PlatformExtension::new("summon", ExtensionClass::OrchestratorOwned, "delegation and knowledge")
    },
    PlatformExtension {
        needs_session: Some(
            "it switches the extensions of a running agent. `goose extension list` shows those that there are",
        ),
        // Gives access to the resources of the server.
        comes_with_servers: true,
        ..PlatformExtension::new(
            "extensionmanager",
            ExtensionClass::OrchestratorOwned,
            "enables extensions on demand",
        )
    },
    PlatformExtension::new("chatrecall", ExtensionClass::OrchestratorOwned, "recall from earlier sessions"),
    PlatformExtension {
        needs_session: Some("it has no tools; it adds text to the requests of goose itself"),
        ..PlatformExtension::new(
            "tom",
            ExtensionClass::OrchestratorOwned,
            "top-of-mind context for each request",
        )
    },
    PlatformExtension::new("apps", ExtensionClass::ModeBound, "small apps with a user interface"),
    PlatformExtension {
        needs_session: Some(
            "its list is a part of goose's conversation. `developer` has the same tool as `plan`",
        ),
        ..PlatformExtension::new("todo", ExtensionClass::ModeBound, "a list of tasks for the session")
    },
    PlatformExtension {
        needs_session: Some(
            "it calls the tools of a running agent. Enable it in the configuration to use it in a session",
        ),
        comes_with_commands: true,
        ..PlatformExtension::new("code_execution", ExtensionClass::Meta, "tool calls from code")
    },
];

/// Returns all platform extensions.
pub fn platform() -> &'static [PlatformExtension] {
    PLATFORM
}

/// Returns the platform extension of a name.
pub fn find(name: &str) -> Option<&'static PlatformExtension> {
    PLATFORM.iter().find(|extension| extension.name == name)
}

/// Returns true for a reserved service that goose does not have yet.
pub fn is_planned(name: &str) -> bool {
    PLANNED.contains(&name)
}

/// Returns the class of one of goose's own extensions. Those that the program registers are services.
pub fn class_of(name: &str) -> ExtensionClass {
    find(name).map_or(ExtensionClass::Service, |extension| extension.class)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use goose_mcp::BUILTINS;

    use super::*;

    #[test]
    fn names_are_unique_and_none_is_a_service() {
        let mut names: HashSet<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        for extension in platform() {
            assert!(names.insert(extension.name), "{} is there twice", extension.name);
            assert_ne!(extension.class, ExtensionClass::Service, "{extension:?}");
        }
        assert!(PLANNED.iter().all(|planned| names.insert(planned)));
        assert_eq!(class_of("developer"), ExtensionClass::Service);
        assert_eq!(class_of("todo"), ExtensionClass::ModeBound);
        assert_eq!(class_of("not-a-builtin"), ExtensionClass::Service);
    }
}
