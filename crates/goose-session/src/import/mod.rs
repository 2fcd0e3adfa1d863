//! Imports: JSON exports, and sessions of goose 1.x, Claude Code and Codex.
//!
//! `foreign`: a file of any format as a session; `legacy` and `old_database`: goose 1.x; `claude`; `codex`; `limits`.

mod claude;
mod codex;
mod foreign;
mod legacy;
mod limits;
mod old_database;

pub use foreign::{DATABASE, Imported, NotImported, from_path};
pub use limits::MAX_SESSION_BYTES;

use std::{
    fmt,
    io::{BufReader, Read},
};

use limits::{LimitError, LimitedReader, MAX_STEPS};
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::{
    NewSession, SessionId, SessionStore, SessionSummary, StoreError, StoredStep,
    export::{FORMAT, VERSION},
    store::{ImportedSession, StepRow},
};

/// Stores a session from a JSON export. Returns its id: the exported one, or a new one if that is
/// taken. Steps that this version does not understand are left out.
///
/// # Errors
///
/// Fails with [`StoreError::NotImportable`] if this is not an export, is larger than [`MAX_SESSION_BYTES`], or
/// none of its steps can be read, and with errors of the store.
pub async fn json(store: &SessionStore, export: impl Read) -> Result<SessionId, StoreError> {
    let failed = |reason: String| StoreError::not_importable("the export", reason);
    // The buffer is outside: JSON is read byte by byte.
    let reader = BufReader::new(LimitedReader::new(export));
    let document: Document = serde_json::from_reader(reader).map_err(|error| failed(error.to_string()))?;
    if document.format != FORMAT || document.version > VERSION {
        return Err(failed(format!(
            "it is {} of version {}; this goose reads {FORMAT} up to version {VERSION}",
            document.format, document.version
        )));
    }
    let ReadSteps { rows, unreadable, refused } = document.steps;
    if let Some(error) = refused {
        return Err(error);
    }
    match unreadable {
        Some(reason) if rows.is_empty() => return Err(failed(reason)),
        Some(reason) => tracing::warn!(reason, "the import leaves out steps that cannot be read"),
        None => {}
    }
    let session = document.session;
    let imported_session = ImportedSession {
        origin: format!("import:{}", session.id),
        id: Some(session.id),
        new: NewSession {
            working_dir: session.working_dir,
            name: session.given_name,
            kind: session.kind,
            parent: session.parent,
            agent: session.agent,
            id: None,
        },
        created_at: session.created_at,
        steps: rows,
    };
    store.insert_imported(imported_session).await
}

/// The parts of an export that are imported.
#[derive(Deserialize)]
struct Document {
    format: String,
    version: u32,
    session: SessionSummary,
    steps: ReadSteps,
}

/// Steps of an export. Each is read and converted alone, so that only one is in memory as JSON.
#[derive(Default)]
struct ReadSteps {
    rows: Vec<StepRow>,
    /// The last step that cannot be read.
    unreadable: Option<String>,
    /// A step that cannot be stored.
    refused: Option<StoreError>,
}

impl ReadSteps {
    fn add(&mut self, step: &Value) {
        match StoredStep::deserialize(step).map(|stored| StepRow::new(&stored.step, stored.at)) {
            Ok(Ok(row)) => self.rows.push(row),
            Ok(Err(error)) => self.refused = Some(error),
            Err(error) => self.unreadable = Some(error.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for ReadSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(StepsVisitor)
    }
}

struct StepsVisitor;

impl<'de> Visitor<'de> for StepsVisitor {
    type Value = ReadSteps;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of steps")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<ReadSteps, A::Error> {
        let mut steps = ReadSteps::default();
        for _ in 0..MAX_STEPS {
            match sequence.next_element::<Value>()? {
                Some(step) if steps.refused.is_none() => steps.add(&step),
                Some(_) => {}
                None => return Ok(steps),
            }
        }
        match sequence.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom(LimitError::Steps)),
            None => Ok(steps),
        }
    }
}
