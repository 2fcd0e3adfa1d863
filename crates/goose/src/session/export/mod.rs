//! A session as a file to keep or to read: JSON with everything, Markdown for people.
//!
//! The JSON form, which [`import::json`](super::import::json) takes back:
//!
//! ```text
//! {
//!   "format": "goose-session",
//!   "version": 1,
//!   "session": { "id": "20261115_3", "given_name": …, "title": …, "working_dir": …, "created_at": …, … },
//!   "steps":   [ { "seq": 1, "at": "2026-11-15T08:00:00Z", "step": { "step": "message", "message": … } }, … ],
//!   "skipped": [ { "seq": 7, "reason": … } ]
//! }
//! ```

mod markdown;

use serde::{Deserialize, Serialize};

use super::{SessionId, SessionStore, SessionSummary, SkippedStep, StoreError};

/// What an export says it is.
pub(super) const FORMAT: &str = "goose-session";

/// Raised when the form changes so that an older goose cannot read it.
pub(super) const VERSION: u32 = 1;

/// The JSON form. An import reads each step on its own.
#[derive(Serialize, Deserialize)]
pub(super) struct Document<S> {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) session: SessionSummary,
    pub(super) steps: Vec<S>,
    #[serde(default)]
    pub(super) skipped: Vec<SkippedStep>,
}

/// A session with all its steps, as JSON.
///
/// # Errors
///
/// [`StoreError::NoSuchSession`], and where the store cannot be read.
pub async fn json(store: &SessionStore, id: &SessionId) -> Result<String, StoreError> {
    let (session, steps) = store.summary_and_steps(id).await?;
    let document = Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        session,
        steps: steps.steps,
        skipped: steps.skipped,
    };
    serde_json::to_string_pretty(&document).map_err(|error| StoreError::Other { reason: error.to_string() })
}

/// A session to be read by people, as Markdown.
///
/// # Errors
///
/// [`StoreError::NoSuchSession`], and where the store cannot be read.
pub async fn markdown(store: &SessionStore, id: &SessionId) -> Result<String, StoreError> {
    let (session, steps) = store.summary_and_steps(id).await?;
    Ok(markdown::page(&session, &steps))
}
