//! [`Scan`]: everything in a folder that a retrieval or a search has to look at, within a cap.

use goose_extension::ToolResult;

use super::{
    category::{Category, Selection},
    folder::{Folder, MAX_CATEGORIES, MAX_FILE_BYTES},
    format, overview,
    page::Found,
    quote,
};

/// How many bytes of one folder are read for one call. A single category always fits.
const MAX_SCAN_BYTES: usize = MAX_FILE_BYTES;

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
        let mut skipped: Vec<String> = Vec::new();
        let mut unreadable: Vec<String> = Vec::new();
        for category in &listing.categories {
            match read_within(folder, category, room) {
                Ok(Reading::Bytes(bytes)) => {
                    room = room.saturating_sub(bytes.len());
                    self.add(folder, category, &bytes);
                }
                Ok(Reading::TooMuch) => skipped.push(quote::name(category.as_str())),
                Ok(Reading::Nothing) => {}
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        if !skipped.is_empty() {
            self.notes.push(format!(
                "One call looks at {} MiB of the {} memory, so it skipped {}. Name a category to look there.",
                MAX_SCAN_BYTES >> 20,
                folder.scope.name(),
                overview::categories(&skipped)
            ));
        }
        if !unreadable.is_empty() {
            self.notes.push(quote::few(&unreadable));
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

enum Reading {
    Bytes(Vec<u8>),
    /// There is no such file any more.
    Nothing,
    /// There is no room for it.
    TooMuch,
}

/// Reads a category unless it is larger than `room`, which is not more than any category may have.
fn read_within(folder: &Folder, category: &Category, room: usize) -> ToolResult<Reading> {
    let Some(file) = folder.locate(category)? else { return Ok(Reading::Nothing) };
    // What is larger than any category may be is not short of room, but an error, which reading gives.
    if (room as u64 + 1..=MAX_FILE_BYTES as u64).contains(&file.metadata.len()) {
        return Ok(Reading::TooMuch);
    }
    Ok(folder.read(category)?.map_or(Reading::Nothing, Reading::Bytes))
}
