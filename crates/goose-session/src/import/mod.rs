//! Imports: JSON exports, and the sessions of goose 1.x.

mod legacy;

pub use legacy::{Imported, NotImported, legacy};

use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    NewSession, SessionId, SessionStore, StoreError, StoredStep,
    export::{Document, FORMAT, VERSION},
    store::{ImportedSession, StepRow},
};

/// Stores a session from the text of a JSON export. Returns its id: the exported one, or a new one if that is
/// taken. Steps that this version does not understand are left out.
///
/// # Errors
///
/// Fails with [`StoreError::NotImportable`] if the text is not an export or none of its steps can be read,
/// and with errors of the store.
pub async fn json(store: &SessionStore, text: &str) -> Result<SessionId, StoreError> {
    let failed = |reason: String| StoreError::not_importable("the export", reason);
    let document: Document<Value> = serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
    if document.format != FORMAT || document.version > VERSION {
        return Err(failed(format!(
            "it is {} of version {}; this goose reads {FORMAT} up to version {VERSION}",
            document.format, document.version
        )));
    }
    let mut steps = Vec::with_capacity(document.steps.len());
    let mut unreadable = None;
    for step in &document.steps {
        match StoredStep::deserialize(step) {
            Ok(stored) => steps.push(StepRow::new(&stored.step, stored.at)?),
            Err(error) => unreadable = Some(error.to_string()),
        }
    }
    match unreadable {
        Some(reason) if steps.is_empty() => return Err(failed(reason)),
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
        },
        created_at: session.created_at,
        steps,
    };
    store.insert_imported(imported_session).await
}
