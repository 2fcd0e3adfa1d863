//! What one look came to.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Good,
    /// goose works, but not as well as it could.
    Warning,
    /// goose, or a part of it, does not work.
    Bad,
    /// It was not looked at.
    Skipped,
}

#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) says: String,
    /// How to mend it.
    pub(super) mend: Option<String>,
}

impl Check {
    pub(super) fn good(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Good, says: says.into(), mend: None }
    }

    pub(super) fn skipped(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self { state: State::Skipped, ..Self::good(name, says) }
    }

    pub(super) fn warning(name: impl Into<String>, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { state: State::Warning, mend: Some(mend.into()), ..Self::good(name, says) }
    }

    pub(super) fn bad(name: impl Into<String>, says: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { state: State::Bad, mend: Some(mend.into()), ..Self::good(name, says) }
    }
}
