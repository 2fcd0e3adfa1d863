//! [`Page`]: what retrieving and searching give back. Bounded, and it says what it left out.

use schemars::JsonSchema;
use serde::Serialize;

use super::{category::Category, entry::Entry, folder::Scope};

/// How many bytes of memories one answer holds.
pub(super) const MAX_PAGE_BYTES: usize = 32 * 1024;

/// How many bytes of tags are shown of one entry. Ours have fewer; a file written by hand may have a long
/// heading where we read tags.
const MAX_TAGS_BYTES: usize = 2 * 1024;

/// What an entry costs besides its text.
const ENTRY_OVERHEAD_BYTES: usize = 64;

/// An entry and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) scope: Scope,
    pub(super) category: Category,
    pub(super) entry: Entry,
}

/// Memories, and how many there are beyond them.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Page {
    /// The memories, best or oldest first.
    memories: Vec<Shown>,
    /// How many there are in all.
    pub(super) total: usize,
    /// How many come after these.
    pub(super) more: usize,
    /// What else there is to know, and what to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One memory as it is shown.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Shown {
    scope: Scope,
    category: String,
    tags: Vec<String>,
    data: String,
    /// How many bytes of `data` are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    bytes_left_out: usize,
}

impl Page {
    /// As many of `found` as fit, after the first `offset`, and at most `limit`.
    pub(super) fn fill(found: Vec<Found>, offset: usize, limit: usize) -> Self {
        let total = found.len();
        let mut room = MAX_PAGE_BYTES;
        let mut memories: Vec<Shown> = Vec::new();
        for found in found.into_iter().skip(offset).take(limit) {
            let cost = cost(&found);
            if cost > room && !memories.is_empty() {
                break;
            }
            room = room.saturating_sub(cost);
            memories.push(Shown::from(found));
        }
        let more = total.saturating_sub(offset).saturating_sub(memories.len());
        Self { memories, total, more, note: None }
    }

    /// How many memories are on the page.
    pub(super) fn len(&self) -> usize {
        self.memories.len()
    }

    /// Adds a sentence to the note.
    pub(super) fn add_note(&mut self, sentence: &str) {
        let note = self.note.get_or_insert_default();
        if !note.is_empty() {
            note.push(' ');
        }
        note.push_str(sentence);
    }
}

impl From<Found> for Shown {
    /// Only a memory that does not fit on a page of its own is clipped.
    fn from(found: Found) -> Self {
        let Entry { mut tags, mut data } = found.entry;
        let mut room = MAX_TAGS_BYTES;
        tags.retain(|tag| {
            let fits = tag.len() <= room;
            room = room.saturating_sub(tag.len());
            fits
        });
        let whole = data.len();
        data.truncate(data.floor_char_boundary(MAX_PAGE_BYTES));
        let bytes_left_out = whole - data.len();
        Self { scope: found.scope, category: found.category.to_string(), tags, data, bytes_left_out }
    }
}

fn cost(found: &Found) -> usize {
    let tags: usize = found.entry.tags.iter().map(|tag| tag.len() + 3).sum();
    found.entry.data.len() + tags + found.category.as_str().len() + ENTRY_OVERHEAD_BYTES
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
