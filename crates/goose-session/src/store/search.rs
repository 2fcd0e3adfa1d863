//! Full-text search over messages, tool calls, results and log entries.
//!
//! Ranking all texts with a frequent word would take longer the more there are. So each word contributes the
//! ids of its newest texts, at most [`MAX_PER_WORD`]; their weighted sum is the relevance of a text, and only
//! the best are read. A word with fewer texts, which is the more useful one in a query, is ranked completely.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use jiff::Timestamp;

use super::{
    SessionStore, StoreError,
    database::Lease,
    dialect::{Row, SearchTerm, Statement},
    index::{IndexState, day, first_id},
    row::{count, moment},
    snippet::snippet,
};
use crate::SessionId;

/// Maximum number of words in a query.
const MAX_WORDS: usize = 16;

/// Maximum length of a word in a query.
const MAX_WORD_CHARS: usize = 64;

/// Maximum number of newest texts that are considered for a word. A word with more is frequent.
const MAX_PER_WORD: usize = 2_000;

/// Maximum number of best texts that are read.
const MAX_LOOKED_AT: usize = 500;

/// Minimum length of a word that matches longer words. Words that begin with one or two given letters would
/// be millions.
const MIN_PREFIX_BYTES: usize = 4;

/// Assumed share of texts that contain a frequent word.
const FREQUENT_SHARE: f64 = 0.25;

/// Time that one search spends on indexing more sessions.
const INDEX_BUDGET: Duration = Duration::from_millis(150);

/// Time that a search waits for writers before it continues with the current index.
const MAX_INDEX_WAIT: Duration = Duration::from_secs(2);

/// Default length of a snippet in characters.
const SNIPPET_CHARS: usize = 160;

/// Size at which the length score of a text is half of the maximum.
const LONG_TEXT_BYTES: f64 = 1_000.0;

/// Share of the length in the score of a text.
const LENGTH_SHARE: f64 = 0.3;

/// Score of tool calls and results, relative to messages.
const TOOL_SCORE: f64 = 0.8;

/// Search over the user's sessions.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// Words. A word of at least four letters also matches longer words that begin with it.
    pub text: String,
    /// Maximum number of steps.
    pub limit: u32,
    /// Maximum number of steps of one session.
    pub per_session: Option<u32>,
    /// Only steps at or after this time.
    pub after: Option<Timestamp>,
    /// Only steps before this time.
    pub before: Option<Timestamp>,
    /// Session to leave out.
    pub without: Option<SessionId>,
    /// Only sessions in this folder.
    pub working_dir: Option<PathBuf>,
    /// True to find steps with only some of the words if too few have all of them.
    pub any_word: bool,
    /// Minimum relevance, from 0 to 1.
    pub min_relevance: f64,
    /// Length of a snippet in characters, if not the default.
    pub snippet_chars: Option<usize>,
}

impl SearchQuery {
    /// Returns a search for steps with all these words.
    pub fn new(text: impl Into<String>, limit: u32) -> Self {
        Self { text: text.into(), limit, ..Self::default() }
    }

    /// Finds steps with only some of the words, too, if too few have all of them.
    #[must_use]
    pub fn any_word(mut self) -> Self {
        self.any_word = true;
        self
    }

    /// Leaves a session out.
    #[must_use]
    pub fn without(mut self, session: SessionId) -> Self {
        self.without = Some(session);
        self
    }

    /// Restricts the search to sessions in this folder.
    #[must_use]
    pub fn in_folder(mut self, working_dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(working_dir.into());
        self
    }

    /// Restricts the search to steps at or after `after` and before `before`.
    #[must_use]
    pub fn between(mut self, after: Option<Timestamp>, before: Option<Timestamp>) -> Self {
        (self.after, self.before) = (after, before);
        self
    }

    /// Limits the number of steps of each session.
    #[must_use]
    pub fn per_session(mut self, limit: u32) -> Self {
        self.per_session = Some(limit);
        self
    }
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SearchResults {
    /// Steps, best first.
    pub found: Vec<Found>,
    /// Number of sessions that are not searchable yet. They are older than the searched ones, and each search
    /// makes some of them searchable.
    pub unindexed: u64,
}

/// Step that matches a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Id of the session.
    pub session: SessionId,
    /// Name of the session.
    pub name: String,
    /// Number of the step.
    pub seq: u64,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// Kind of the step, as returned by [`Step::kind`](crate::Step::kind).
    pub kind: String,
    /// Text around the words.
    pub snippet: String,
    /// Share of the words that the step has, from 0 to 1. Rare words count more than frequent ones.
    pub relevance: f64,
}

impl SessionStore {
    /// Searches the user's sessions. Before that, the newest unindexed sessions are made searchable, within a
    /// time limit.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn search(&self, query: &SearchQuery) -> Result<SearchResults, StoreError> {
        match tokio::time::timeout(MAX_INDEX_WAIT, self.index_newest(INDEX_BUDGET)).await {
            // A store that cannot be written now can still be searched.
            Ok(Err(StoreError::Locked(_) | StoreError::ReadOnly(_) | StoreError::Full(_)) | Ok(_))
            | Err(_) => self.search_indexed(query).await,
            Ok(Err(error)) => Err(error),
        }
    }

    /// Searches the sessions that are searchable now.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn search_indexed(&self, query: &SearchQuery) -> Result<SearchResults, StoreError> {
        let state = self.index_state().await?;
        let mut results = SearchResults { found: Vec::new(), unindexed: state.unindexed };
        let words = words(&query.text);
        if words.is_empty() || query.limit == 0 {
            return Ok(results);
        }
        let mut lease = self.database().read().await?;
        let span = Span::new(query);
        let mut terms = Vec::new();
        for word in &words {
            terms.push(Term::look_up(self, &mut lease, &span, state, word).await?);
        }
        let relevances = self.relevances(&mut lease, &span, query, &terms).await?;
        // Most of the best texts may be from other folders.
        let most = if query.working_dir.is_some() { MAX_PER_WORD } else { MAX_LOOKED_AT };
        let best = best(relevances, query.min_relevance, most);
        let matches = matches(&mut lease, query, &best).await?;
        results.found = self.with_snippets(&mut lease, query, &terms, matches).await?;
        lease.give_back();
        Ok(results)
    }

    /// Returns the relevance of each text with all words, and of others if the query allows them.
    async fn relevances(
        &self,
        lease: &mut Lease,
        span: &Span,
        query: &SearchQuery,
        terms: &[Term<'_>],
    ) -> Result<HashMap<i64, f64>, StoreError> {
        let all = match terms {
            [only] => only.ids.clone(),
            _ if terms.iter().any(|term| term.ids.is_empty()) => Vec::new(),
            _ => self.having_all(lease, span, query, terms).await?,
        };
        let mut relevances = HashMap::new();
        if query.any_word && all.len() < query.limit as usize {
            let sum: f64 = terms.iter().map(|term| term.weight).sum();
            // The newest texts with a frequent word are arbitrary, so they count only together with a rarer
            // word.
            let rare = terms.iter().filter(|term| !term.is_frequent);
            rare.flat_map(|term| term.ids.iter().map(|&id| (id, term.weight)))
                .for_each(|(id, weight)| *relevances.entry(id).or_default() += weight / sum);
            for term in terms.iter().filter(|term| term.is_frequent) {
                for id in &term.ids {
                    relevances.entry(*id).and_modify(|relevance| *relevance += term.weight / sum);
                }
            }
        }
        relevances.extend(all.into_iter().map(|id| (id, 1.0)));
        Ok(relevances)
    }

    /// Returns the newest texts with all words.
    async fn having_all(
        &self,
        lease: &mut Lease,
        span: &Span,
        query: &SearchQuery,
        terms: &[Term<'_>],
    ) -> Result<Vec<i64>, StoreError> {
        let dialect = self.database().dialect();
        let chosen: Vec<_> = terms.iter().map(|term| term.search).collect();
        let ids = span.matching(lease, dialect.search_condition(&chosen)).await?;
        let longer: Vec<_> = with_prefixes(&chosen).collect();
        let is_complete = longer.iter().zip(&chosen).all(|(one, other)| one.is_prefix == other.is_prefix);
        if is_complete || query.any_word || ids.len() >= query.limit as usize {
            return Ok(ids);
        }
        // A frequent word was searched without its longer forms, because joining their lists takes time.
        span.matching(lease, dialect.search_condition(&longer)).await
    }

    async fn with_snippets(
        &self,
        lease: &mut Lease,
        query: &SearchQuery,
        terms: &[Term<'_>],
        matches: Vec<Match>,
    ) -> Result<Vec<Found>, StoreError> {
        let ids = json_ids(matches.iter().map(|found| found.id));
        let texts = Statement::new(lease.sql().texts).bind(ids);
        let texts = lease.rows(texts, |row| Ok((row.integer("id")?, row.text("text")?))).await?;
        let texts: HashMap<i64, String> = texts.into_iter().collect();
        let mut by_weight: Vec<&Term<'_>> = terms.iter().collect();
        by_weight.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        let words: Vec<&str> = by_weight.iter().map(|term| term.search.word).collect();
        let chars = query.snippet_chars.unwrap_or(SNIPPET_CHARS);
        let described = matches.into_iter().map(|found| {
            let text = texts.get(&found.id).map_or("", String::as_str);
            Found { snippet: snippet(text, &words, chars), ..found.found }
        });
        Ok(described.collect())
    }
}

/// Range of texts that a query may find: some days, without one session.
struct Span {
    first: i64,
    last: i64,
    without: String,
}

impl Span {
    fn new(query: &SearchQuery) -> Self {
        let first = query.after.map_or(0, |after| first_id(day(after.as_millisecond())));
        let last = query.before.map_or(i64::MAX, |before| first_id(day(before.as_millisecond()) + 1));
        let without = query.without.as_ref().map(SessionId::to_string).unwrap_or_default();
        Self { first, last, without }
    }

    /// Returns the newest texts that match a condition.
    async fn matching(&self, lease: &mut Lease, condition: String) -> Result<Vec<i64>, StoreError> {
        let query = Statement::new(lease.sql().matching).bind(condition).bind(self.first).bind(self.last);
        let query = query.bind(self.without.as_str()).bind(MAX_PER_WORD as i64);
        let ids = lease.rows(query, |row| row.text("ids")).await?.pop().unwrap_or_default();
        Ok(serde_json::from_str(&ids).unwrap_or_default())
    }
}

/// Word of a query with its newest texts.
struct Term<'a> {
    search: SearchTerm<'a>,
    ids: Vec<i64>,
    is_frequent: bool,
    weight: f64,
}

impl<'a> Term<'a> {
    async fn look_up(
        store: &SessionStore,
        lease: &mut Lease,
        span: &Span,
        state: IndexState,
        word: &'a str,
    ) -> Result<Self, StoreError> {
        let dialect = store.database().dialect();
        let mut search = SearchTerm { word, is_prefix: false };
        let mut ids = span.matching(lease, dialect.search_condition(&[search])).await?;
        if ids.len() < MAX_PER_WORD && word.len() >= MIN_PREFIX_BYTES {
            search.is_prefix = true;
            ids = span.matching(lease, dialect.search_condition(&[search])).await?;
        }
        let is_frequent = ids.len() >= MAX_PER_WORD;
        Ok(Self {
            search,
            weight: weight(state.steps as f64, ids.len() as f64, is_frequent),
            ids,
            is_frequent,
        })
    }
}

/// Returns the weight of a word that `having` of `all` texts contain: its inverse document frequency.
fn weight(all: f64, having: f64, is_frequent: bool) -> f64 {
    let having = if is_frequent { having.max(all * FREQUENT_SHARE) } else { having };
    (1.0 + (all - having).max(0.0) / (having + 0.5)).ln().max(0.1)
}

/// Returns the terms, extended to longer words that begin with them.
fn with_prefixes<'a>(terms: &[SearchTerm<'a>]) -> impl Iterator<Item = SearchTerm<'a>> {
    terms.iter().map(|term| SearchTerm { is_prefix: term.word.len() >= MIN_PREFIX_BYTES, ..*term })
}

/// Returns the best texts that are relevant enough; among equally good ones, the newest.
fn best(relevances: HashMap<i64, f64>, min_relevance: f64, most: usize) -> HashMap<i64, f64> {
    let mut best: Vec<_> =
        relevances.into_iter().filter(|(_, relevance)| *relevance >= min_relevance).collect();
    best.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    best.truncate(most);
    best.into_iter().collect()
}

/// Text that is read.
struct Match {
    id: i64,
    bytes: u64,
    found: Found,
}

impl Match {
    fn read(row: &dyn Row) -> Result<Self, sqlx::Error> {
        let found = Found {
            session: row.session_id("session_id")?,
            name: row.text("name")?,
            seq: row.integer("seq").map(count)?,
            at: row.integer("at").map(moment)?,
            kind: row.text("kind")?,
            snippet: String::new(),
            relevance: 0.0,
        };
        Ok(Self { id: row.integer("id")?, bytes: row.integer("bytes").map(count)?, found })
    }

    fn score(&self) -> f64 {
        let brevity = 1.0 / (1.0 + self.bytes as f64 / LONG_TEXT_BYTES);
        let kind = if self.found.kind == "message" { 1.0 } else { TOOL_SCORE };
        self.found.relevance * kind * (1.0 - LENGTH_SHARE + LENGTH_SHARE * brevity)
    }
}

/// Returns the best of these texts, best first, up to the limits of the query.
async fn matches(
    lease: &mut Lease,
    query: &SearchQuery,
    relevances: &HashMap<i64, f64>,
) -> Result<Vec<Match>, StoreError> {
    let folder = query.working_dir.as_ref().map(|folder| folder.to_string_lossy().into_owned());
    let statement = Statement::new(lease.sql().matches)
        .bind(json_ids(relevances.keys().copied()))
        .bind(query.after.map_or(i64::MIN, Timestamp::as_millisecond))
        .bind(query.before.map_or(i64::MAX, Timestamp::as_millisecond))
        .bind(folder);
    let mut matches = lease.rows(statement, Match::read).await?;
    for found in &mut matches {
        found.found.relevance = relevances.get(&found.id).copied().unwrap_or_default();
    }
    matches.sort_by(|one, other| other.score().total_cmp(&one.score()).then(other.id.cmp(&one.id)));
    let mut of_session: HashMap<SessionId, u32> = HashMap::new();
    let most = query.per_session.unwrap_or(u32::MAX);
    matches.retain(|found| {
        let shown = of_session.entry(found.found.session.clone()).or_default();
        *shown += 1;
        *shown <= most
    });
    matches.truncate(query.limit as usize);
    Ok(matches)
}

fn json_ids(ids: impl Iterator<Item = i64>) -> String {
    serde_json::Value::from(ids.collect::<Vec<_>>()).to_string()
}

/// Splits a query into distinct words of letters and digits, in lower case, so that nothing in it is syntax
/// of the database.
fn words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(|word| word.chars().take(MAX_WORD_CHARS).collect::<String>().to_lowercase());
    words.filter(|word| seen.insert(word.clone())).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_has_no_syntax() {
        assert_eq!(words("fix NOT (a-b) \"c*\" Fix"), ["fix", "not", "a", "b", "c"]);
        assert_eq!(words(" \"'* "), Vec::<String>::new());
    }

    #[test]
    fn rare_words_weigh_more() {
        let weights = [(0.0, false), (3.0, false), (1_999.0, false), (2_000.0, true)];
        let weights = weights.map(|(having, frequent)| weight(200_000.0, having, frequent));
        assert!(weights.is_sorted_by(|one, other| one > other), "{weights:?}");
        assert!(weight(3.0, 5.0, false) > 0.0, "texts may be removed during a search");
    }
}
