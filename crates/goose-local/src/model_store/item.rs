//! [`Item`]: a model as it is on the store.

use std::path::PathBuf;

use super::catalogue::CatalogueEntry;

/// A model of the catalogue, or a file in the store that is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Where its file is, or would be.
    pub path: PathBuf,
    /// How much of it is there.
    pub state: State,
    /// What is known of it.
    pub entry: Option<CatalogueEntry>,
}

/// How much of a model is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All of it.
    Here {
        /// How large it is.
        bytes: u64,
    },
    /// The begin of it, from a download that did not end.
    Part {
        /// How large it is.
        bytes: u64,
    },
    /// A file under its name that is not as large as it should be.
    Damaged {
        /// How large it is.
        bytes: u64,
    },
    /// Nothing.
    Absent,
}

/// Where a model is that somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In this file.
    File(PathBuf),
    /// Nowhere yet, but it can be fetched.
    Elsewhere(Box<CatalogueEntry>),
}
