//! [`Mode`]: how much goose may do without asking.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How much goose may do without asking. Later ones are stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Mode {
    /// Everything that no rule denies; what a rule wants asked is asked.
    #[default]
    Auto,
    /// What only reads runs; the rest is asked, unless a rule allows it.
    SmartApprove,
    /// Every call is asked, unless a rule allows it.
    Approve,
    /// No tools at all.
    Chat,
}

impl Mode {
    /// All modes, from the freest to the strictest.
    pub const ALL: [Self; 4] = [Self::Auto, Self::SmartApprove, Self::Approve, Self::Chat];

    /// The mode's name in `GOOSE_MODE` and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::SmartApprove => "smart_approve",
            Self::Approve => "approve",
            Self::Chat => "chat",
        }
    }

    /// The stricter of two.
    pub fn stricter(self, other: Self) -> Self {
        self.max(other)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.as_str().to_owned()
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownMode;

    fn try_from(text: String) -> Result<Self, UnknownMode> {
        text.parse()
    }
}

/// A word that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mode; use auto, smart_approve, approve or chat")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    /// As people write them: `smart_approve`, `smart-approve`, `SmartApprove`, `AUTO`.
    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let plain = |text: &str| text.trim().replace(['_', '-', ' '], "").to_ascii_lowercase();
        let wanted = plain(text);
        Self::ALL
            .into_iter()
            .find(|mode| plain(mode.as_str()) == wanted)
            .ok_or_else(|| UnknownMode(text.chars().take(40).collect()))
    }
}
