//! `@name` at the start of a message, which names the agent that answers it. In any other position, and as
//! `@./…`, it is a file.

use std::{path::Path, sync::Arc};

use super::{
    catalog::{AgentCatalog, UnknownAgent},
    manifest::{AgentManifest, AgentMode},
};

impl AgentCatalog {
    /// Returns the agent that a message names at its start, if an agent of that name exists: `@AGENT`,
    /// `@AGENT/MODE`, or `@MODE` if only one agent has it.
    ///
    /// # Errors
    ///
    /// Fails if several agents have the mode, or if the named agent does not have it.
    pub fn mentioned(&self, text: &str) -> Result<Option<(Arc<AgentManifest>, AgentMode)>, UnknownAgent> {
        let Some((name, _)) = mention(text) else { return Ok(None) };
        match self.find(name) {
            Ok(found) => Ok(Some(found)),
            // The name of a person, a file, or any other word after `@`.
            Err(UnknownAgent::Agent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the name at the start of a message if no agent has it: `@backnd fix it`. Returns `None` for a file
/// of the folder.
pub(crate) fn unknown_mention<'t>(text: &'t str, working_dir: &Path) -> Option<&'t str> {
    let (name, _) = mention(text)?;
    (!working_dir.join(name).exists()).then_some(name)
}

/// Returns the text after an `@name` at its start, or all of it if there is none.
pub(crate) fn without_mention(text: &str) -> &str {
    mention(text).map_or(text, |(_, rest)| rest)
}

/// Returns the name after an `@` at the start of a text, and the text after it.
fn mention(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.trim_start().strip_prefix('@')?.split_once(char::is_whitespace)?;
    let (name, rest) = (name.trim_end_matches([',', ':']), rest.trim_start());
    (!name.is_empty() && !name.contains('.') && !rest.is_empty()).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::catalog::{AgentOrigin, CatalogEntry};

    fn named(text: &str) -> Result<Option<String>, String> {
        let mode = AgentMode::new("backend", ["read"], ["developer"]);
        let manifest = AgentManifest { name: "mine".into(), modes: vec![mode], ..AgentManifest::default() };
        let mut catalog = AgentCatalog::builtin();
        catalog.agents.push(CatalogEntry { manifest: Arc::new(manifest), origin: AgentOrigin::Builtin });
        let found = catalog.mentioned(text).map_err(|error| error.to_string())?;
        Ok(found.map(|(manifest, mode)| format!("{}/{}", manifest.name, mode.slug)))
    }

    #[test]
    fn only_the_beginning_of_a_message_names_an_agent() {
        for (text, agent) in [
            ("@security look at this", Some("coding-agent/security")),
            ("  @security: look", Some("coding-agent/security")),
            ("@coding-agent fix it", Some("coding-agent/pm")),
            ("@mine/backend fix it", Some("mine/backend")),
            ("ask @security about it", None),
            ("@./security is a file", None),
            ("@src/main.rs is a file", None),
            ("@ada says hello", None),
            ("@security", None),
            ("@ security", None),
        ] {
            assert_eq!(named(text), Ok(agent.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn a_mode_of_several_agents_needs_the_agent() {
        let error = named("@backend fix it").unwrap_err();
        assert!(error.contains("coding-agent, mine") && error.contains("AGENT/MODE"), "{error}");
        let error = named("@coding-agent/backends fix it").unwrap_err();
        assert!(error.contains("no mode 'backends'"), "{error}");
    }
}
