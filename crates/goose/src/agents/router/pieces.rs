//! Pieces of a request: where it could be cut into tasks, and what joins each piece to the one before it.

use std::ops::Range;

use super::{cuts::cuts, phrases};

/// The longest request that is cut, in bytes. In a longer one most is pasted.
const MAX_TEXT_BYTES: usize = 2_500;

/// The most pieces that are looked at.
const MAX_PIECES: usize = 24;

/// The fewest words of a clause after "once" that names work.
const LEAST_WORK_WORDS: usize = 3;

/// The link between a piece and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// It is the first one.
    First,
    /// It is an item of a list.
    Item,
    /// Words say that it comes after: "then", "once that is done".
    Then,
    /// Words say that it is separate: "also", "meanwhile".
    Also,
    /// A sentence or a line ended.
    Sentence,
    /// A comma, "and" or "plus".
    Clause,
}

/// A piece of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its place in the request, with the words that join it.
    pub(crate) whole: Range<usize>,
    /// Its place without them.
    pub(crate) core: Range<usize>,
    /// The start of its main clause, after a clause such as "from the roadmap,".
    pub(crate) main: usize,
    /// The link to the piece before.
    pub(crate) join: Join,
    /// The link that its first words speak for, where it is an item.
    pub(crate) spoken: Join,
}

/// Cuts a text at every place where a task could end.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    if text.len() > MAX_TEXT_BYTES {
        return vec![whole(text)];
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut start, mut join) = (0, Join::First);
    for cut in cuts(text) {
        let found = piece(text, start..cut.end, join);
        (start, join) = (cut.start, cut.join);
        match found {
            // Words such as "after that," stand alone before a comma: they join what follows.
            Some(piece) if piece.core.is_empty() => {
                join = if cut.join == Join::Item { Join::Item } else { piece.spoken };
            }
            Some(piece) => pieces.push(piece),
            None => {}
        }
    }
    pieces.truncate(MAX_PIECES);
    join_leads(text, &mut pieces);
    if let Some(first) = pieces.first_mut().filter(|first| first.join != Join::Item) {
        first.join = Join::First;
    }
    if let Some(last) = pieces.last_mut() {
        let end = text.trim_end().len();
        last.whole.end = end.max(last.whole.start);
        last.core.end = end.max(last.core.start);
    }
    if pieces.is_empty() { vec![whole(text)] } else { pieces }
}

fn whole(text: &str) -> Piece {
    Piece { whole: 0..text.len(), core: 0..text.len(), main: 0, join: Join::First, spoken: Join::First }
}

fn piece(text: &str, range: Range<usize>, join: Join) -> Option<Piece> {
    let whole = trimmed(text, range);
    let inner = text.get(whole.clone())?;
    if !inner.contains(char::is_alphanumeric) {
        return None;
    }
    let (spoken, skipped) = leading_words(inner, join);
    let core = trimmed(text, whole.start + skipped..whole.end);
    // An item stays one, whatever its words.
    let join = if join == Join::Item { join } else { spoken };
    Some(Piece { whole, main: core.start, core, join, spoken })
}

/// The join that the first words of a piece speak for, and the length of these words.
fn leading_words(piece: &str, join: Join) -> (Join, usize) {
    let lower = piece.to_ascii_lowercase();
    let signs = |length: usize| {
        let rest = piece.get(length..).unwrap_or_default();
        rest.len() - rest.trim_start_matches([',', ':', ' ', '-', '.', '—', '–', ')']).len()
    };
    let lists = [("then", Join::Then), ("also", Join::Also), ("first", join)];
    let begun = lists
        .into_iter()
        .filter_map(|(name, spoken)| Some((phrases::beginning(name, &lower)?.len(), spoken)));
    if let Some((length, spoken)) = begun.max_by_key(|(length, _)| *length) {
        return (spoken, length + signs(length));
    }
    for name in ["counted", "tag"] {
        let length = phrases::beginning(name, &lower).map_or(0, str::len);
        if length > 0 && piece.get(length..).is_some_and(|rest| rest.starts_with([':', ')'])) {
            let spoken = if join == Join::First { join } else { Join::Also };
            return (spoken, length + signs(length));
        }
    }
    let end = lower.trim_end_matches(['.', '!']);
    if phrases::list("ends_then")
        .iter()
        .any(|phrase| end.strip_suffix(phrase).is_some_and(|rest| rest.ends_with(' ')))
    {
        return (Join::Then, 0);
    }
    let skipped =
        ["and ", "& ", "+ "].iter().find(|word| lower.starts_with(**word)).map_or(0, |word| word.len());
    (join, skipped)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(inner) = text.get(range.clone()) else { return range };
    let is_edge = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let start = range.start + (inner.len() - inner.trim_start_matches(is_edge).len());
    let end = range.start + inner.trim_end_matches(is_edge).len();
    start.min(end)..end
}

/// Joins clauses such as "in the timer app," to what follows them. What follows "once X is done," comes after X.
fn join_leads(text: &str, pieces: &mut Vec<Piece>) {
    let mut at = 0;
    while at + 1 < pieces.len() {
        let (lead, next) = (pieces[at].clone(), pieces[at + 1].clone());
        let lower = text.get(lead.core.clone()).unwrap_or_default().to_ascii_lowercase();
        let between = text.get(lead.whole.end..next.whole.start).unwrap_or_default();
        let is_lead = between.starts_with(',') && phrases::beginning("lead", &lower).is_some();
        let is_empty = phrases::list("interjection").contains(&lower.trim_end_matches(['!', '.', ':']));
        if is_lead && next.join == Join::Clause && work_after(&lower).is_some() {
            let content = work_after(&lower).unwrap_or_default();
            pieces[at].core.start = lead.core.end - content.len();
            pieces[at].main = pieces[at].core.start;
            let is_beside = phrases::beginning("beside", &lower).is_some();
            pieces[at + 1].join = if is_beside { Join::Also } else { Join::Then };
        } else if is_empty && next.join != Join::Item {
            let join = if matches!(next.join, Join::Then | Join::Also) { next.join } else { lead.join };
            let join = if lower.contains("oh") { Join::Also } else { join };
            pieces[at + 1] = Piece { whole: lead.whole.start..next.whole.end, join, ..next };
            pieces.remove(at);
            continue;
        } else if is_lead && next.join == Join::Clause && lead.join != Join::Item {
            let join = lead_join(&lower, lead.join);
            let (whole, core) = (lead.whole.start..next.whole.end, lead.core.start..next.core.end);
            let main = if join == lead.join { core.start } else { next.core.start };
            pieces[at + 1] = Piece { whole, core, main, join, spoken: join };
            pieces.remove(at);
        }
        at += 1;
    }
}

/// The join of a task that begins with a clause of its own.
fn lead_join(lower: &str, join: Join) -> Join {
    match join {
        Join::Sentence | Join::Clause if phrases::beginning("lead_then", lower).is_some() => Join::Then,
        Join::Sentence | Join::Clause if phrases::beginning("lead_also", lower).is_some() => Join::Also,
        join => join,
    }
}

/// The clause after "once" or "as soon as" if it names work, unlike "that is done".
fn work_after(lower: &str) -> Option<&str> {
    let word = phrases::beginning("before", lower)?;
    let clause = lower.get(word.len()..)?.trim_start();
    let first = clause.split_whitespace().next()?;
    let is_pronoun = phrases::has("continues", first)
        || matches!(first, "that's" | "it's" | "you" | "you're" | "you've" | "done" | "i" | "we");
    (!is_pronoun && clause.split_whitespace().count() >= LEAST_WORK_WORDS).then_some(clause)
}
