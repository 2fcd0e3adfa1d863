//! [`Query`]: which memories fit some words and tags, best first.
//!
//! An entry fits when at least one word of the query is in it, and, where tags are given, at least one of them is
//! on it. It fits better the more words it has, the rarer those are among all entries, and the closer they match:
//! a tag counts more than a whole word, a whole word more than a part of one. Between equals the newer one wins.

use goose_extension::{ToolError, ToolResult};

use super::{
    entry::{MAX_TAGS, clean_tag},
    page::Found,
    words::words,
};

/// How long the words of a query may be, all together.
pub(super) const MAX_QUERY_CHARS: usize = 2_000;

/// How many different words of a query count.
const MAX_WORDS: usize = 32;

/// How long a word must be to be looked for inside of other words. In bytes, because in scripts that are written
/// without spaces a single character says a lot, and takes three.
const MIN_PART_BYTES: usize = 3;

/// How much better an entry is that has the words of the query next to each other.
const PHRASE_BONUS: f64 = 1.5;

const TAG: f64 = 4.0;
const WORD: f64 = 3.0;
const BEGINNING: f64 = 2.0;
const PART: f64 = 1.0;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    words: Vec<String>,
    tags: Vec<String>,
}

impl Query {
    /// A query for words, tags, or both: of each, the first ones up to a cap.
    ///
    /// # Errors
    ///
    /// Where there is nothing to look for.
    pub(super) fn new(text: &str, tags: &[String]) -> ToolResult<Self> {
        let text = &text[..text.floor_char_boundary(4 * MAX_QUERY_CHARS)];
        let tags = tags.iter().map(|tag| clean_tag(tag).to_lowercase()).filter(|tag| !tag.is_empty());
        let query = Self { words: distinct(words(text), MAX_WORDS), tags: distinct(tags, MAX_TAGS) };
        if query.words.is_empty() && query.tags.is_empty() {
            return Err(ToolError::execution(
                "There is nothing to search for: `query` has no words. Pass a few words that the memory contains, or \
                 tags; to see a whole category use retrieve_memories.",
            ));
        }
        Ok(query)
    }

    /// What fits, best first. `found` is taken to be from old to new.
    pub(super) fn rank(&self, found: Vec<Found>) -> Vec<Found> {
        let documents: Vec<Document> = found.iter().map(Document::new).collect();
        let strengths: Vec<Vec<f64>> = documents.iter().map(|document| self.strengths(document)).collect();
        let rarities = self.rarities(&strengths);
        let mut scored: Vec<(f64, usize, Found)> = found
            .into_iter()
            .zip(&documents)
            .zip(&strengths)
            .enumerate()
            .filter_map(|(age, ((found, document), strengths))| {
                Some((self.score(document, strengths, &rarities)?, age, found))
            })
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
        scored.into_iter().map(|(_, _, found)| found).collect()
    }

    /// How well each word of the query matches.
    fn strengths(&self, document: &Document) -> Vec<f64> {
        self.words.iter().map(|word| document.strength(word)).collect()
    }

    /// How much each word says: one that is in every entry says little.
    fn rarities(&self, strengths: &[Vec<f64>]) -> Vec<f64> {
        let total = strengths.len() as f64;
        (0..self.words.len())
            .map(|word| {
                let having = strengths.iter().filter(|of_document| of_document[word] > 0.0).count();
                (1.0 + total / having.max(1) as f64).ln()
            })
            .collect()
    }

    /// `None` where the entry does not fit.
    fn score(&self, document: &Document, strengths: &[f64], rarities: &[f64]) -> Option<f64> {
        let tags = self.tags.iter().filter(|tag| document.tags.contains(tag)).count();
        if tags == 0 && !self.tags.is_empty() {
            return None;
        }
        let words: f64 = strengths.iter().zip(rarities).map(|(strength, rarity)| strength * rarity).sum();
        if words == 0.0 && !self.words.is_empty() {
            return None;
        }
        let bonus = if document.has_phrase(&self.words) { PHRASE_BONUS } else { 1.0 };
        Some(words * bonus + TAG * tags as f64)
    }
}

/// The first `cap` different ones.
fn distinct(all: impl Iterator<Item = String>, cap: usize) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for one in all {
        if kept.len() == cap {
            break;
        }
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// An entry as searching sees it.
struct Document {
    tags: Vec<String>,
    /// Of the data.
    words: Vec<String>,
    /// Of the category and of tags that consist of several.
    headings: Vec<String>,
}

impl Document {
    fn new(found: &Found) -> Self {
        let tags: Vec<String> = found.entry.tags.iter().map(|tag| clean_tag(tag).to_lowercase()).collect();
        let headings = words(found.category.as_str()).chain(tags.iter().flat_map(|tag| words(tag))).collect();
        Self { tags, words: words(&found.entry.data).collect(), headings }
    }

    fn strength(&self, word: &str) -> f64 {
        if self.tags.iter().any(|tag| tag == word) {
            return TAG;
        }
        let matches = self.words.iter().chain(&self.headings).map(|candidate| closeness(word, candidate));
        matches.fold(0.0, f64::max)
    }

    fn has_phrase(&self, phrase: &[String]) -> bool {
        phrase.len() > 1 && self.words.windows(phrase.len()).any(|window| window == phrase)
    }
}

/// How well a word of the query matches a word of an entry. `server` finds `servers`, and the other way round.
fn closeness(word: &str, candidate: &str) -> f64 {
    if word == candidate {
        return WORD;
    }
    let is_long = word.len() >= MIN_PART_BYTES;
    if is_long && candidate.starts_with(word)
        || candidate.len() > MIN_PART_BYTES && word.starts_with(candidate)
    {
        BEGINNING
    } else if is_long && candidate.contains(word) {
        PART
    } else {
        0.0
    }
}
