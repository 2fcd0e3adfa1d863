//! The states of a service, and the events that tell of them.

use std::fmt;

use serde::Serialize;

/// Where a service is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Not running; it starts when it is needed.
    Idle,
    /// On its way.
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

/// A service within its pool. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ServiceId(pub(crate) u64);

/// Something happened to a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceEvent {
    /// Which one.
    pub id: ServiceId,
    /// Its name.
    pub name: String,
    /// What happened.
    pub change: ServiceChange,
}

/// What can happen to a service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceChange {
    /// It is in another state now, with the reason where there is something to say.
    Phase(Phase, Option<String>),
    /// It has other tools now.
    Tools,
    /// It has other resources now.
    Resources,
    /// It has other prompts now.
    Prompts,
    /// The content of a resource is another now.
    ResourceUpdated(String),
}
