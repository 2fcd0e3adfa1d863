//! [`SessionSummary`]: a session without its steps; and options to create and list sessions.

use std::path::PathBuf;

use goose_providers::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// Kind of a session. Only the user's own sessions are listed, searched and resumed by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "String")]
#[non_exhaustive]
pub enum SessionKind {
    /// Conversation with the user.
    #[default]
    User,
    /// Task that another session has delegated.
    Delegate,
    /// Run of a scheduled job, which is its parent.
    Scheduled,
    /// Kind that this version does not know. It is kept.
    #[serde(untagged)]
    Other(String),
}

impl SessionKind {
    /// Returns the name in the store and in exports.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Delegate => "delegate",
            Self::Scheduled => "scheduled",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for SessionKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "user" => Self::User,
            "delegate" => Self::Delegate,
            "scheduled" => Self::Scheduled,
            _ => Self::Other(name),
        }
    }
}

/// Options of a new session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NewSession {
    /// Working folder.
    pub working_dir: PathBuf,
    /// Name given by the user. Without one, the first words are used.
    pub name: Option<String>,
    /// Kind of the session.
    pub kind: SessionKind,
    /// Session that started it.
    pub parent: Option<SessionId>,
    /// Agent with its mode, such as `goose-agent/assistant`.
    pub agent: Option<String>,
    /// Id that a client gave. It must be new; without one, the next of the day is used.
    pub id: Option<SessionId>,
}

impl NewSession {
    /// Returns options for a session in this folder.
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

    /// Makes it the session of a delegate, started by `parent`. It is removed together with its parent.
    #[must_use]
    pub fn delegated_by(mut self, parent: SessionId) -> Self {
        self.parent = Some(parent);
        self.with_kind(SessionKind::Delegate)
    }

    /// Makes it the session of a run of a job.
    #[must_use]
    pub fn scheduled_by(mut self, job: SessionId) -> Self {
        self.parent = Some(job);
        self.with_kind(SessionKind::Scheduled)
    }

    /// Sets the agent with its mode, such as `goose-agent/assistant`.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }
}

/// Options for a list of sessions. The newest come first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// Maximum number of sessions.
    pub limit: Option<u32>,
    /// Only sessions in this folder.
    pub working_dir: Option<PathBuf>,
    /// True to include sessions that are not the user's own, such as delegates'.
    pub all_kinds: bool,
    /// Only sessions that this session or job has started.
    pub parent: Option<SessionId>,
    /// True if the oldest come first.
    pub is_ascending: bool,
}

impl ListOptions {
    /// Returns options for the newest sessions, at most `limit`.
    pub fn newest(limit: u32) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Restricts the list to sessions in this folder.
    #[must_use]
    pub fn in_folder(mut self, working_dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(working_dir.into());
        self
    }

    /// Restricts the list to sessions of any kind that this session or job has started.
    #[must_use]
    pub fn of_parent(mut self, parent: SessionId) -> Self {
        self.parent = Some(parent);
        self.all_kinds()
    }

    /// Puts the oldest first.
    #[must_use]
    pub fn ascending(mut self) -> Self {
        self.is_ascending = true;
        self
    }

    /// Includes sessions that are not the user's own, such as delegates'.
    #[must_use]
    pub fn all_kinds(mut self) -> Self {
        self.all_kinds = true;
        self
    }
}

/// Session without its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Id of the session.
    pub id: SessionId,
    /// Name given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// First words of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Working folder.
    pub working_dir: PathBuf,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the newest step.
    pub updated_at: Timestamp,
    /// Number of steps, which is also the number of the newest step.
    pub steps: u64,
    /// Number of messages among the steps.
    pub messages: u64,
    /// Tokens that were used.
    pub usage: Usage,
    /// Cost in US dollars, as far as prices are known.
    pub dollars: f64,
    /// Origin of a copied or imported session: `fork:ID@STEP`, `import:ID`, `legacy:ID`, `claude-code:ID` or
    /// `codex:ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Kind of the session.
    #[serde(default)]
    pub kind: SessionKind,
    /// Session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// Agent with its mode, such as `goose-agent/assistant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl SessionSummary {
    /// Returns the given name, or else the first words, or else the id.
    pub fn name(&self) -> &str {
        let name = self.given_name.as_deref().or(self.title.as_deref());
        name.filter(|name| !name.is_empty()).unwrap_or(self.id.as_str())
    }
}
