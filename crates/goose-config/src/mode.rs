//! [`Mode`]: the permission mode.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Permission mode: the calls that goose makes without asking. Later modes are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum Mode {
    /// Runs every call, except where a rule denies it or asks.
    #[default]
    Auto,
    /// Runs calls that only read; asks about the others unless a rule allows them.
    SmartApprove,
    /// Asks about every call unless a rule allows it.
    Approve,
    /// Runs no tools.
    Chat,
}

impl Mode {
    /// All modes, from the most permissive to the strictest.
    pub const ALL: [Self; 4] = [Self::Auto, Self::SmartApprove, Self::Approve, Self::Chat];

    /// Returns the name in `GOOSE_MODE` and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::SmartApprove => "smart_approve",
            Self::Approve => "approve",
            Self::Chat => "chat",
        }
    }

    /// Returns the stricter of two modes.
    pub fn stricter(self, other: Self) -> Self {
        self.max(other)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownMode;

    fn try_from(text: String) -> Result<Self, UnknownMode> {
        text.parse()
    }
}

/// Error for a word that does not name a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode; use auto, smart_approve, approve or chat")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    /// Accepts all common spellings: `smart_approve`, `smart-approve`, `SmartApprove`, `AUTO`.
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let plain = |text: &str| text.trim().replace(['_', '-', ' '], "").to_ascii_lowercase();
        let wanted = plain(text);
        Self::ALL
            .into_iter()
            .find(|mode| plain(mode.as_str()) == wanted)
            .ok_or_else(|| UnknownMode(text.chars().take(40).collect()))
    }
}
