//! [`recall`]: what earlier sessions have that is relevant to a request, in a bounded text.

use std::path::PathBuf;

use super::{SNIPPETS_PER_SESSION, render::groups};
use crate::session::{SearchQuery, SessionId, SessionStore, StoreError};

/// The matches that are considered.
const MAX_FOUND: u32 = 30;

/// The part of a request whose words are searched for.
const MAX_REQUEST_BYTES: usize = 2_000;

/// The letters of a word below which it says nothing about a request.
const MIN_WORD_CHARS: usize = 4;

/// The bounds of a recall.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecallOptions {
    /// Only sessions that work in this folder.
    pub working_dir: PathBuf,
    /// The session that asks, which is left out.
    pub current: SessionId,
    /// The size of the text.
    pub max_bytes: usize,
    /// The lowest relevance, from 0 to 1: the part of the request's words, weighted by their rarity, that a step must have.
    pub min_relevance: f64,
}

impl RecallOptions {
    /// Returns options for a folder: 4 KiB at most, and half of the request's weight.
    pub fn new(working_dir: impl Into<PathBuf>, current: SessionId) -> Self {
        Self { working_dir: working_dir.into(), current, max_bytes: 4 * 1024, min_relevance: 0.5 }
    }
}

/// The relevant parts of earlier sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recalled {
    /// Sessions, each with its matches; within the bound, and with invisible characters shown.
    pub text: String,
    /// The sessions in it, the best first.
    pub sessions: Vec<SessionId>,
}

/// Returns what earlier sessions of a folder have that is relevant to a request; `None` if nothing is relevant enough.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub async fn recall(
    store: &SessionStore,
    request: &str,
    options: &RecallOptions,
) -> Result<Option<Recalled>, StoreError> {
    let request = &request[..request.floor_char_boundary(MAX_REQUEST_BYTES)];
    let words = request.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.len() >= MIN_WORD_CHARS || !word.is_ascii()).collect::<Vec<_>>();
    let query = SearchQuery::new(words.join(" "), MAX_FOUND)
        .any_word()
        .per_session(SNIPPETS_PER_SESSION)
        .in_folder(options.working_dir.clone())
        .without(options.current.clone());
    let query = SearchQuery { min_relevance: options.min_relevance, ..query };
    let results = store.search(&query).await?;
    let mut recalled = Recalled { text: String::new(), sessions: Vec::new() };
    for group in groups(&results.found) {
        let text = group.text();
        if recalled.text.len() + text.len() <= options.max_bytes {
            recalled.text += &text;
            recalled.sessions.push(group.session.clone());
        }
    }
    Ok((!recalled.sessions.is_empty()).then_some(recalled))
}
