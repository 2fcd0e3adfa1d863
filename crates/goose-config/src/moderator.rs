//! [`Moderator`]: the compaction strategy of a profile.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Strategy for a full context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moderator {
    /// No compaction: a full context is an error.
    Passive,
    /// Removes the oldest messages.
    Truncate,
    /// Summarizes the oldest messages with a model.
    #[default]
    Summarize,
}

impl fmt::Display for Moderator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passive => "passive",
            Self::Truncate => "truncate",
            Self::Summarize => "summarize",
        })
    }
}
