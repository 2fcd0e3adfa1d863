//! The states of a service, and the events that report them.

use std::fmt;

use serde::Serialize;

/// The state of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Not running; it starts when it is needed.
    Idle,
    /// Starting.
    Starting,
    /// It answers.
    Ready,
    /// It failed, and is tried again at its next use.
    Degraded,
    /// It failed too often, or can never work as it is configured; its tools are withdrawn.
    Dead,
}

impl Phase {
    /// The state's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The number of a service within its pool. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ServiceId(pub(crate) u64);

/// A change of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceEvent {
    /// The service.
    pub id: ServiceId,
    /// Its name.
    pub name: String,
    /// The change.
    pub change: ServiceChange,
}

/// The kinds of changes of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceChange {
    /// Its state changed, with the reason where there is one.
    Phase(Phase, Option<String>),
    /// Its tools changed.
    Tools,
    /// Its list of resources changed.
    Resources,
    /// Its prompts changed.
    Prompts,
    /// The content of a resource changed.
    ResourceUpdated(String),
}
