//! What is known of a session without reading its steps, and how to ask for sessions.

use std::path::PathBuf;

use goose_providers::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::SessionId;

/// A session to be.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NewSession {
    /// The folder it works in.
    pub working_dir: PathBuf,
    /// The name that the person gave it. Without one, it is called by its first words.
    pub name: Option<String>,
}

impl NewSession {
    /// A session that works in this folder.
    pub fn in_folder(working_dir: impl Into<PathBuf>) -> Self {
        Self { working_dir: working_dir.into(), name: None }
    }

    /// With a name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Which sessions to list. The newest come first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// No more than so many.
    pub limit: Option<u32>,
    /// Only those that work in this folder.
    pub working_dir: Option<PathBuf>,
}

impl ListOptions {
    /// The newest so many.
    pub fn newest(limit: u32) -> Self {
        Self { limit: Some(limit), working_dir: None }
    }

    /// Only those that work in this folder.
    #[must_use]
    pub fn in_folder(mut self, working_dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(working_dir.into());
        self
    }
}

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// The name that the person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// The first words that were said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder it works in.
    pub working_dir: PathBuf,
    /// When it began.
    pub created_at: Timestamp,
    /// When its newest step was made.
    pub updated_at: Timestamp,
    /// How many steps it has, which is the number of the newest.
    pub steps: u64,
    /// How many messages there are among them.
    pub messages: u64,
    /// The tokens that were paid for.
    pub usage: Usage,
    /// What they cost in US dollars, as far as prices are known.
    pub dollars: f64,
    /// Where it comes from, if not from a conversation of its own: `fork:ID@STEP`, `import:ID` or
    /// `legacy:ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl SessionSummary {
    /// What to call it: the given name, the first words, or the id.
    pub fn name(&self) -> &str {
        let name = self.given_name.as_deref().or(self.title.as_deref());
        name.filter(|name| !name.is_empty()).unwrap_or(self.id.as_str())
    }
}
