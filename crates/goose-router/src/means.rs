//! [`Means`]: what an agent can do, or what a request needs.

use std::{fmt, ops::BitOr};

/// Means of a mode, or those that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Means(u8);

impl Means {
    /// Nothing besides words.
    pub const NONE: Self = Self(0);
    /// Reads the files of the project.
    pub const LOOK: Self = Self(1);
    /// Writes documents.
    pub const DOCUMENTS: Self = Self(2);
    /// Writes any file; documents are some of them.
    pub const EDIT: Self = Self(2 | 4);
    /// Runs commands.
    pub const RUN: Self = Self(8);
    /// Fetches from the web.
    pub const FETCH: Self = Self(16);
    /// All of it.
    pub const ALL: Self = Self(31);

    /// Returns true if these means are enough for the others.
    pub fn covers(self, needed: Self) -> bool {
        self.0 & needed.0 == needed.0
    }

    /// The means among the needed ones that are missing here.
    #[must_use]
    pub fn missing(self, needed: Self) -> Self {
        Self(needed.0 & !self.0)
    }
}

impl BitOr for Means {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The means in words: `edit files, run commands`.
impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only_documents = self.0 & Self::EDIT.0 == Self::DOCUMENTS.0;
        let edits = if only_documents { "write documents" } else { "edit files" };
        let named = [
            (Self::LOOK.0, "read files"),
            (Self::EDIT.0, edits),
            (Self::RUN.0, "run commands"),
            (Self::FETCH.0, "fetch from the web"),
        ];
        let words: Vec<&str> =
            named.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, word)| *word).collect();
        f.write_str(&words.join(", "))
    }
}
