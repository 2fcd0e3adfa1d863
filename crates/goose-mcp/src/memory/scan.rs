//! [`Scan`]: everything in a folder that a retrieval or a search has to look at, within a cap.

use goose_extension::ToolResult;

use super::{
    category::{Category, Selection},
    folder::{Folder, MAX_CATEGORIES},
    format,
    page::Found,
};

/// How many bytes of one folder are read for one call.
const MAX_SCAN_BYTES: usize = 32 * 1024 * 1024;

/// What was found, and what could not be looked at.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// By category, each from its oldest entry to its newest.
    pub(super) found: Vec<Found>,
    /// A sentence for everything that is missing from `found`.
    pub(super) notes: Vec<String>,
}

impl Scan {
    /// Reads one category or all.
    ///
    /// # Errors
    ///
    /// Where the folder, or the one category, cannot be read. When all are asked for, a category that cannot be
    /// read is a note.
    pub(super) fn of(folder: &Folder, selection: &Selection) -> ToolResult<Self> {
        let mut scan = Self::default();
        match selection {
            Selection::One(category) => {
                let bytes = folder.read(category)?.unwrap_or_default();
                scan.add(folder, category, &bytes);
            }
            Selection::All => scan.add_all(folder)?,
        }
        Ok(scan)
    }

    fn add_all(&mut self, folder: &Folder) -> ToolResult<()> {
        let listing = folder.categories()?;
        let mut room = MAX_SCAN_BYTES;
        for category in &listing.categories {
            match folder.read(category) {
                Ok(Some(bytes)) if bytes.len() > room => {
                    self.notes.push(format!(
                        "Only the categories before `{category}` were looked at, because there is too much: name a \
                         category."
                    ));
                    return Ok(());
                }
                Ok(Some(bytes)) => {
                    room -= bytes.len();
                    self.add(folder, category, &bytes);
                }
                Ok(None) => {}
                Err(error) => self.notes.push(error.to_string()),
            }
        }
        if listing.is_cut {
            self.notes
                .push(format!("Only the first {MAX_CATEGORIES} categories were looked at: name a category."));
        }
        Ok(())
    }

    fn add(&mut self, folder: &Folder, category: &Category, bytes: &[u8]) {
        self.found.extend(format::parse(bytes).into_iter().map(|located| Found {
            scope: folder.scope,
            category: category.clone(),
            entry: located.entry,
        }));
    }

    /// Adds what another scan found.
    pub(super) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.notes.extend(other.notes);
    }
}
