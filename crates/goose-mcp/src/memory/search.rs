//! [`Query`]: which memories fit some words and tags, best first.
//!
//! An entry fits when at least one word of the query is in it, and, where tags are given, at least one of them is
//! on it. It fits better the more words it has, the rarer those are among all entries, and the closer they match:
//! a tag counts more than a whole word, a whole word more than a part of one. Between equals the newer one wins.

use std::collections::HashSet;

use goose_extension::{ToolError, ToolResult};

use super::{
    entry::{self, Category, Located, MAX_TAGS, Selection, clean_tag},
    folder::{Folder, MAX_CATEGORIES, MAX_FILE_BYTES},
    page::{self, Found},
};

/// Maximum length of a query.
pub(super) const MAX_QUERY_CHARS: usize = 2_000;

/// Maximum number of different words of a query.
const MAX_WORDS: usize = 32;

/// Minimum length of a word that is found inside of other words. In bytes, because in scripts that are written
/// without spaces a single character says a lot, and takes three.
const MIN_PART_BYTES: usize = 3;

/// Factor for an entry that has the words of the query next to each other.
const PHRASE_BONUS: f64 = 1.5;

const TAG: f64 = 4.0;
const WORD: f64 = 3.0;
const BEGINNING: f64 = 2.0;
const PART: f64 = 1.0;

/// A query.
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
    /// Fails if there is nothing to look for.
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

    /// Returns the matches, best first. `found` is ordered from old to new.
    pub(super) fn rank(&self, found: Vec<Found>) -> Vec<Found> {
        let documents: Vec<Document> = found.iter().map(Document::new).collect();
        let strengths = |document: &Document| self.words.iter().map(|word| document.strength(word)).collect();
        let strengths: Vec<Vec<f64>> = documents.iter().map(strengths).collect();
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

    /// Returns the weight of each word: one that is in every entry says little.
    fn rarities(&self, strengths: &[Vec<f64>]) -> Vec<f64> {
        let total = strengths.len() as f64;
        (0..self.words.len())
            .map(|word| {
                let having = strengths.iter().filter(|of_document| of_document[word] > 0.0).count();
                (1.0 + total / having.max(1) as f64).ln()
            })
            .collect()
    }

    /// `None` if the entry does not fit.
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

/// Returns the score of a word of the query for a word of an entry. `server` finds `servers`, and the other way round.
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

/// The words of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Maximum size of what one call reads of a folder. A single category always fits.
const MAX_SCAN_BYTES: usize = MAX_FILE_BYTES;

/// The entries found, and the files that could not be read.
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
    /// Fails if the folder, or the one category, cannot be read. When all are asked for, a category that cannot be
    /// read is a note.
    pub(super) fn read(folder: &Folder, selection: &Selection) -> ToolResult<Self> {
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
                Ok(Reading::TooMuch) => skipped.push(page::quote_name(category.as_str())),
                Ok(Reading::Nothing) => {}
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        if !skipped.is_empty() {
            self.notes.push(format!(
                "One call looks at {} MiB of the {} memory, so it skipped {}. Name a category to look there.",
                MAX_SCAN_BYTES >> 20,
                folder.scope.name(),
                page::categories(&skipped)
            ));
        }
        if !unreadable.is_empty() {
            self.notes.push(page::few(&unreadable));
        }
        if listing.is_cut {
            self.notes
                .push(format!("Only the first {MAX_CATEGORIES} categories were looked at: name a category."));
        }
        Ok(())
    }

    fn add(&mut self, folder: &Folder, category: &Category, bytes: &[u8]) {
        self.found.extend(entry::parse(bytes).into_iter().map(|located| Found {
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

/// Maximum number of similar entries shown.
const MAX_NEAR: usize = 3;

/// Characters shown of each.
const MAX_NEAR_BYTES: usize = 1024;

/// From which share of common words on an entry is near.
const MIN_LIKENESS: f64 = 0.2;

/// Maximum number of entries compared, the newest ones, and the characters compared of each.
const MAX_COMPARED: usize = 2_000;
const MAX_COMPARED_BYTES: usize = 16 * 1024;

/// The message for an entry that is not there.
pub(super) fn explain_missing(place: &str, content: &str, entries: &[Located]) -> String {
    let near = nearest(content, entries);
    if near.is_empty() {
        return format!(
            "None of the {} in {place} is this text, or resembles it. Look with retrieve_memories and pass the \
             `data` of the entry exactly as it is shown there.",
            page::entries(entries.len())
        );
    }
    let shown: Vec<String> = near.iter().map(|data| quote(data)).collect();
    format!(
        "None of the {} in {place} is exactly this text. Call again with `memory_content` as one of these (JSON \
         strings):\n{}",
        page::entries(entries.len()),
        shown.join("\n")
    )
}

fn nearest<'a>(content: &str, entries: &'a [Located]) -> Vec<&'a str> {
    let content = clip(content);
    let wanted: HashSet<String> = words(content).collect();
    let mut likely: Vec<(f64, &str)> = entries
        .iter()
        .skip(entries.len().saturating_sub(MAX_COMPARED))
        .map(|located| (likeness(content, &wanted, &located.entry.data), located.entry.data.as_str()))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    likely.sort_by(|one, other| other.0.total_cmp(&one.0));
    likely.dedup_by_key(|(_, data)| *data);
    likely.into_iter().take(MAX_NEAR).map(|(_, data)| data).collect()
}

/// The share of words that both have; a text that contains the other is nearer than any other.
fn likeness(content: &str, wanted: &HashSet<String>, data: &str) -> f64 {
    let data = clip(data);
    let has: HashSet<String> = words(data).collect();
    let both = wanted.intersection(&has).count();
    let either = wanted.len() + has.len() - both;
    let content = content.trim();
    let contains = !content.is_empty() && (data.contains(content) || content.contains(data));
    both as f64 / either.max(1) as f64 + if contains { 1.0 } else { 0.0 }
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMPARED_BYTES)]
}

fn quote(data: &str) -> String {
    let end = data.floor_char_boundary(MAX_NEAR_BYTES);
    let text = serde_json::Value::from(&data[..end]);
    if end == data.len() {
        format!("- {text}")
    } else {
        format!("- {text} and {} bytes more", data.len() - end)
    }
}
