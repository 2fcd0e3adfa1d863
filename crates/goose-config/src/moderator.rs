//! [`Moderator`]: how room is made in a full context.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The way in which a profile wants room to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moderator {
    /// Not at all: a full context is an error.
    Passive,
    /// The oldest messages are left out.
    Truncate,
    /// The oldest messages are summarized by a model.
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
