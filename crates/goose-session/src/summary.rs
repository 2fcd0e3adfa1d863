//! [`SessionSummary`]: a session without its steps; and the options to create and list sessions.

use std::path::PathBuf;

use goose_providers::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// The reason a session exists. Only the user's own sessions are listed, searched and resumed unless others are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "String")]
#[non_exhaustive]
pub enum SessionKind {
    /// A conversation with the user.
    #[default]
    User,
    /// A task that another session has delegated.
    Delegate,
    /// A kind that this version does not know. It is kept as it is.
    #[serde(untagged)]
    Other(String),
}

impl SessionKind {
    /// The name in the store and in exports.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Delegate => "delegate",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for SessionKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "user" => Self::User,
            "delegate" => Self::Delegate,
            _ => Self::Other(name),
        }
    }
}

/// A session to be created.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NewSession {
    /// The folder it works in.
    pub working_dir: PathBuf,
    /// The name that the user gave it. Without one, it is called by its first words.
    pub name: Option<String>,
    /// The reason it exists.
    pub kind: SessionKind,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// The agent with its mode, such as `goose-agent/assistant`.
    pub agent: Option<String>,
}

impl NewSession {
    /// Returns a session that works in this folder.
    pub fn in_folder(working_dir: impl Into<PathBuf>) -> Self {
        Self { working_dir: working_dir.into(), ..Self::default() }
    }

    /// Sets the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: SessionKind) -> Self {
        self.kind = kind;
        self
    }

    /// Makes it a delegate's session, started by `parent`. It is removed together with its parent.
    #[must_use]
    pub fn delegated_by(mut self, parent: SessionId) -> Self {
        self.parent = Some(parent);
        self.with_kind(SessionKind::Delegate)
    }

    /// Sets the agent with its mode, such as `goose-agent/assistant`.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }
}

/// The sessions to list. The newest come first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// The maximum number.
    pub limit: Option<u32>,
    /// Only those that work in this folder.
    pub working_dir: Option<PathBuf>,
    /// Also sessions that are not the user's own, such as delegates'.
    pub all_kinds: bool,
}

impl ListOptions {
    /// Returns options for the newest sessions, at most `limit`.
    pub fn newest(limit: u32) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Restricts the list to sessions that work in this folder.
    #[must_use]
    pub fn in_folder(mut self, working_dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(working_dir.into());
        self
    }

    /// Includes sessions that are not the user's own, such as delegates'.
    #[must_use]
    pub fn all_kinds(mut self) -> Self {
        self.all_kinds = true;
        self
    }
}

/// A session without its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// The name that the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// The first words that were said in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder it works in.
    pub working_dir: PathBuf,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its newest step.
    pub updated_at: Timestamp,
    /// The number of steps, which is also the number of the newest.
    pub steps: u64,
    /// The number of messages among them.
    pub messages: u64,
    /// The tokens that were used.
    pub usage: Usage,
    /// Their cost in US dollars, as far as prices are known.
    pub dollars: f64,
    /// Its origin, if it was not started as a new session: `fork:ID@STEP`, `import:ID` or `legacy:ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The reason it exists.
    #[serde(default)]
    pub kind: SessionKind,
    /// The session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The agent with its mode, such as `goose-agent/assistant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl SessionSummary {
    /// Returns the given name, the first words, or the id.
    pub fn name(&self) -> &str {
        let name = self.given_name.as_deref().or(self.title.as_deref());
        name.filter(|name| !name.is_empty()).unwrap_or(self.id.as_str())
    }
}
