//! Entries of `type: platform`, as goose 1.52 writes them, and their meaning here.
//!
//! | entry | meaning |
//! | --- | --- |
//! | `developer`, `memory`, `tutorial` | the built-in service of that name |
//! | `analyze` | a tool of `developer`; the entry itself starts nothing |
//! | `todo`, `apps`, `chatrecall`, `summon`, `tom`, `code_execution`, `extensionmanager` | switches for what comes with agents |
//! | `skills`, `scheduler` | switches for what comes with recipes |
//! | `orchestrator` | a different feature in 1.52; ignored |
//! | anything else | unknown; only `goose doctor` names it |

use super::{ConfiguredExtension, ExtensionConfig, ExtensionKind};
use crate::builtins;

/// Names that this table knows besides those of the built-ins.
const KNOWN: [&str; 4] = ["analyze", "skills", "scheduler", "orchestrator"];

/// Turns an entry of `type: platform` that names a built-in service into that service.
pub(super) fn resolve(mut config: ExtensionConfig) -> ExtensionConfig {
    let key = config.key();
    if config.kind == ExtensionKind::Platform && builtins::find(&key).is_some() {
        config.kind = ExtensionKind::Builtin;
    }
    config
}

impl ConfiguredExtension {
    /// Returns true if the entry only switches a feature on or off: there is no service to start.
    pub fn is_switch(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.kind == ExtensionKind::Platform)
    }

    /// Returns true for an entry of `type: platform` that no version of goose is known to have.
    pub fn is_unknown_platform(&self) -> bool {
        let is_known = |key: &str| KNOWN.contains(&key) || builtins::all().any(|builtin| builtin.name == key);
        self.is_switch() && self.config.as_ref().is_ok_and(|config| !is_known(&config.key()))
    }
}
