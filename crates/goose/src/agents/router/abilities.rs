//! Abilities of the built-in modes: a mode that cannot edit every file does not get requests to change code.

use super::classifier::{COUNT, LABELS};
use crate::agents::catalog::{AgentCatalog, AgentOrigin};

/// The abilities of a mode, as far as they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ability {
    /// It is not in the catalog.
    Absent,
    /// It cannot edit every file.
    ReadsOnly,
    /// It may edit any file.
    Edits,
}

/// The abilities of the built-in modes of a catalog, in the order of the labels.
pub(crate) fn abilities(catalog: &AgentCatalog) -> [Ability; COUNT] {
    LABELS.map(|(agent, mode)| {
        let builtin = catalog.agents.iter().filter(|entry| entry.origin == AgentOrigin::Builtin);
        let mut named = builtin.filter(|entry| entry.manifest.name == agent);
        match named.find_map(|entry| entry.manifest.mode(mode)) {
            None => Ability::Absent,
            Some(mode) if mode.can_edit_all() => Ability::Edits,
            Some(_) => Ability::ReadsOnly,
        }
    })
}
