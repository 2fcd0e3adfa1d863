//! [`SessionExtensions`]: the extensions that were enabled and disabled in a session. They belong to the
//! session, not to an agent: each agent gets those that its mode may use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock, Weak},
};

use parking_lot::RwLock;

use crate::{
    builtins,
    config::{ExtensionConfig, Settings},
    exchange::EventHub,
    session::{Step, StoredStep},
};

/// Extensions that were enabled and disabled in a session.
#[derive(Debug, Default)]
pub(crate) struct SessionExtensions {
    switches: RwLock<Switches>,
    /// Log of the session. Empty outside of a conversation.
    events: OnceLock<Weak<EventHub>>,
}

#[derive(Debug, Clone, Default)]
struct Switches {
    /// Number of changes.
    version: u64,
    by_name: BTreeMap<String, Switch>,
}

/// Last decision about an extension.
#[derive(Debug, Clone)]
enum Switch {
    /// Enabled: a service with its configuration, or a platform extension that agents have by default.
    On(Option<Box<ExtensionConfig>>),
    Off,
}

impl SessionExtensions {
    /// Returns a copy for a session that this one starts. Later changes of either do not affect the other.
    pub(super) fn inherited(&self) -> Self {
        Self { switches: RwLock::new(self.switches.read().clone()), events: OnceLock::new() }
    }

    /// Restores the changes of an earlier run. The log has only names, so an extension gets its current
    /// configuration. Returns the names of those that the configuration does not enable, because the user has
    /// to agree to them again.
    pub(super) fn restore(&self, steps: &[StoredStep], settings: &Settings) -> Vec<String> {
        let mut switches = self.switches.write();
        let mut lost = BTreeSet::new();
        for stored in steps {
            let Step::ExtensionSwitched { name, enabled } = &stored.step else { continue };
            lost.remove(name);
            let entry =
                settings.extensions().iter().find(|entry| !entry.is_switch() && entry.is_called(name));
            let config = match (entry, settings.builtin(name)) {
                (Some(entry), _) => entry.checked().ok().filter(|_| entry.enabled).cloned(),
                (None, builtin) => builtin.map(|builtin| ExtensionConfig::builtin(builtin.name)),
            };
            let is_part = builtins::find(name).is_some();
            let switch = match (*enabled, config) {
                (false, _) => Switch::Off,
                (true, None) if !is_part => {
                    lost.insert(name.clone());
                    switches.by_name.remove(name);
                    continue;
                }
                (true, config) => Switch::On(config.map(Box::new)),
            };
            switches.by_name.insert(name.clone(), switch);
        }
        lost.into_iter().collect()
    }

    /// Logs later changes in the session.
    pub(super) fn log_to(&self, events: &Arc<EventHub>) {
        // A session is opened once, so this is never set twice.
        let _ = self.events.set(Arc::downgrade(events));
    }

    /// Enables an extension: a service with its configuration, or a platform extension that was disabled.
    pub(crate) fn enable(&self, name: &str, config: Option<ExtensionConfig>) {
        self.switch(name, Switch::On(config.map(Box::new)));
    }

    /// Disables an extension.
    pub(crate) fn disable(&self, name: &str) {
        self.switch(name, Switch::Off);
    }

    fn switch(&self, name: &str, switch: Switch) {
        let enabled = matches!(switch, Switch::On(_));
        let mut switches = self.switches.write();
        switches.version += 1;
        switches.by_name.insert(name.to_owned(), switch);
        drop(switches);
        if let Some(events) = self.events.get().and_then(Weak::upgrade) {
            events.store_later(Step::ExtensionSwitched { name: name.to_owned(), enabled });
        }
    }

    /// Returns the number of changes so far.
    pub(crate) fn version(&self) -> u64 {
        self.switches.read().version
    }

    /// Returns true if the extension was enabled in the session.
    pub(crate) fn is_enabled(&self, name: &str) -> bool {
        matches!(self.switches.read().by_name.get(name), Some(Switch::On(_)))
    }

    /// Returns true if the extension was disabled in the session.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        matches!(self.switches.read().by_name.get(name), Some(Switch::Off))
    }

    /// Returns the services that were enabled.
    pub(super) fn services(&self) -> Vec<ExtensionConfig> {
        let switches = self.switches.read();
        let services = switches.by_name.values().filter_map(|switch| match switch {
            Switch::On(config) => config.as_deref().cloned(),
            Switch::Off => None,
        });
        services.collect()
    }
}
