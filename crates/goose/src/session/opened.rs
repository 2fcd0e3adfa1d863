//! What comes out of the store when a session is read.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Session, SessionSummary, Step};

/// A step with its place in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredStep {
    /// Its number; the first is 1.
    pub seq: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The step.
    pub step: Step,
}

/// A step that is in the log and cannot be read. It stays there as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStep {
    /// Its number.
    pub seq: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The log of a session.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Steps {
    /// What can be read, in order.
    pub steps: Vec<StoredStep>,
    /// What cannot; worth telling the person.
    pub skipped: Vec<SkippedStep>,
}

impl Steps {
    /// Whether the last reply neither ended nor was marked as interrupted: goose was ended in the middle of it.
    pub fn is_unfinished(&self) -> bool {
        let last = self.steps.iter().rev().find_map(|stored| match stored.step {
            Step::ReplyEnded { .. } | Step::Interrupted { .. } => Some(false),
            Step::Message { .. } | Step::ToolResult { .. } => Some(true),
            // These also come between two replies.
            _ => None,
        });
        last.unwrap_or(false)
    }
}

/// A session to go on with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// Appends to it.
    pub session: Session,
    /// What is known of it at a glance.
    pub summary: SessionSummary,
    /// Its log.
    pub steps: Vec<StoredStep>,
    /// Steps that could not be read; worth telling the person.
    pub skipped: Vec<SkippedStep>,
    /// Whether goose was ended in the middle of the last reply. The log does not say so yet.
    pub unfinished: bool,
}
