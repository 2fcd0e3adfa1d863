//! Sessions from elsewhere: our own JSON exports, and what goose 1.x has left on this machine.
//!
//! The files of goose 1.x are only read.

mod legacy;
mod legacy_content;
mod legacy_db;
mod legacy_lines;

pub use legacy::{Imported, NotImported, legacy};

use super::{
    NewSession, SessionId, SessionStore, StoreError,
    export::{Document, FORMAT, VERSION},
    store::{StepRow, Whole},
};

/// Stores a session from the text of a JSON export, and gives its id: its own, or a new one where that is taken.
///
/// # Errors
///
/// [`StoreError::NotImportable`] where the text is no export, and where the store cannot be written.
pub async fn json(store: &SessionStore, text: &str) -> Result<SessionId, StoreError> {
    let document: Document =
        serde_json::from_str(text).map_err(|error| StoreError::not_importable("the export", error))?;
    if document.format != FORMAT || document.version > VERSION {
        let reason = format!(
            "it is {} of version {}; this goose reads {FORMAT} up to version {VERSION}",
            document.format, document.version
        );
        return Err(StoreError::not_importable("the export", reason));
    }
    let steps = document.steps.iter().map(|stored| StepRow::new(&stored.step, stored.at));
    let session = document.session;
    let whole = Whole {
        origin: format!("import:{}", session.id),
        id: Some(session.id),
        new: NewSession { working_dir: session.working_dir, name: session.given_name },
        created_at: session.created_at,
        steps: steps.collect::<Result<_, _>>()?,
    };
    store.insert_whole(whole).await
}
