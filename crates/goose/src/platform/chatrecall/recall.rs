//! [`recall`]: returns a bounded text of earlier sessions that is relevant to a request.

use std::path::PathBuf;

use super::{SNIPPETS_PER_SESSION, render::groups};
use crate::session::{SearchQuery, SessionId, SessionStore, StoreError};

/// Maximum number of matches that are considered.
const MAX_FOUND: u32 = 30;

/// Maximum size of the part of a request whose words are searched for.
const MAX_REQUEST_BYTES: usize = 2_000;

/// Minimum length of an ASCII word that counts as distinctive.
const MIN_WORD_CHARS: usize = 4;

/// Words that are common in requests. In a small store they look as rare as any other.
const COMMON: &str = "\
    about after again also anything been before being between both cannot could does doing down each \
    else every from give have here hello help into just know like look make many more most much need \
    only other over please same should show some something such take tell than thanks that their them \
    then there these they this want what when where which will with";

/// Limits of a recall.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecallOptions {
    /// Folder of the sessions. `None` searches all folders.
    pub working_dir: Option<PathBuf>,
    /// Session that asks. It is left out.
    pub current: SessionId,
    /// Ids of other sessions to leave out.
    pub known: Vec<String>,
    /// Maximum size of the text.
    pub max_bytes: usize,
    /// Minimum relevance, from 0 to 1: the share of the request's words, weighted by rarity, that a step must
    /// contain.
    pub min_relevance: f64,
    /// Minimum number of distinctive words of a request. Shorter requests are not searched for.
    pub min_words: usize,
    /// If true, inputs and results of tools are left out: they may be long, outdated or untrusted.
    pub only_messages: bool,
}

impl RecallOptions {
    /// Creates options for a folder: at most 4 KiB of text, and half of the request's weight.
    pub fn new(working_dir: impl Into<PathBuf>, current: SessionId) -> Self {
        Self {
            working_dir: Some(working_dir.into()),
            current,
            known: Vec::new(),
            max_bytes: 4 * 1024,
            min_relevance: 0.5,
            min_words: 1,
            only_messages: false,
        }
    }

    /// Recalls only messages, and only for a request with several distinctive words. For text that was not
    /// requested.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { min_words: 3, only_messages: true, ..self }
    }
}

/// Relevant parts of earlier sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recalled {
    /// Sessions, each with its matches, within the size limit. Invisible characters are shown.
    pub text: String,
    /// Sessions in the text, the best first.
    pub sessions: Vec<SessionId>,
}

/// Returns the parts of earlier sessions that are relevant to a request, or `None` if nothing is relevant
/// enough.
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
    let words = words.filter(|word| is_distinctive(word)).collect::<Vec<_>>();
    if words.len() < options.min_words {
        return Ok(None);
    }
    let known = u32::try_from(options.known.len()).unwrap_or(u32::MAX);
    let max_found = known.saturating_mul(SNIPPETS_PER_SESSION).saturating_add(MAX_FOUND);
    let query = SearchQuery::new(words.join(" "), max_found)
        .any_word()
        .per_session(SNIPPETS_PER_SESSION)
        .without(options.current.clone());
    let query = SearchQuery {
        min_relevance: options.min_relevance,
        working_dir: options.working_dir.clone(),
        ..query
    };
    let mut results = store.search_indexed(&query).await?;
    results.found.retain(|found| {
        let is_known = options.known.iter().any(|id| id == found.session.as_str());
        !is_known && (!options.only_messages || found.kind == "message")
    });
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

/// Returns true if a word is distinctive for a request.
fn is_distinctive(word: &str) -> bool {
    let is_long = word.len() >= MIN_WORD_CHARS || !word.is_ascii();
    is_long && !COMMON.split(' ').any(|common| common.eq_ignore_ascii_case(word))
}
