//! A task among the tasks of a request, as far as it shows which of the others it needs.

use super::{
    lattice::{BACK, slug},
    lexicon,
    pieces::Request,
    splitter::Part,
    words::Word,
};

/// The words at the beginning of a task among which is the one that joins it to those before.
pub(crate) const JOINING_WORDS: usize = 5;

/// The letters that two words of one family have in common.
const FAMILY: usize = 5;

/// Words at the beginning of a task that say that it comes after another.
const AFTER: &str = "then after afterwards next finally once when subsequently lastly last based using accordingly \
    thereafter if follow followed later second third done ready from depending where whatever what wherever";

/// Words at the beginning of a task that say that it has nothing to do with the others.
const BESIDE: &str = "also separately separate meanwhile besides btw independent independently parallel additionally \
    unrelated unrelatedly apart aside way same other another else different while regardless plus alongside";

/// Words that mean several things that were named before.
const ALL: &str = "both all everything whole lot each together two three complete entire";

/// Words for what a task brings.
const RESULTS: &str = "result results finding findings outcome outcomes output change changes fix fixes cause answers \
    conclusion numbers procedure implementation accordingly there ones one decision lessons solution choice winner \
    analysis remarks above";

/// Words before a noun that was named before.
const DEFINITE: &str = "the that this those these its their new such same";

/// Words that name nothing.
const EMPTY: &str = "about add after afterwards against all also and another any are based been before being between \
    both but can could did does doesn't done each every everything finally first fix for from get give had has have \
    how into isn't it's its just let make mine more most need needs new next not now once one only other our ours out \
    over please put result results run same say see short should some still such tell than that that's the their them \
    then there these they this those two under use using very want wants was what what's whatever when where which \
    while who whole why will with would write you your";

/// A task with its words.
pub(crate) struct TaskView<'a> {
    /// The name of its mode.
    pub(crate) mode: &'static str,
    pub(crate) words: &'a [Word],
    /// The place of the first word after those that only join.
    head: usize,
}

impl<'a> TaskView<'a> {
    pub(crate) fn new(request: &'a Request, part: Part) -> Self {
        let first = &request.pieces[part.start];
        let words = request.words.get(first.words.start..request.pieces[part.end - 1].words.end);
        let head = first.head - first.words.start;
        Self { mode: slug(part.label), words: words.unwrap_or_default(), head }
    }

    /// The word at a place; empty where there is none.
    pub(crate) fn shown(&self, at: usize) -> &'a str {
        self.words.get(at).map_or("", |word| word.shown.as_str())
    }

    /// The word before a place.
    pub(crate) fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |at| self.shown(at))
    }

    /// The first word after those that only join, mostly a verb, and the one after it.
    pub(crate) fn head(&self) -> (&'a str, &'a str) {
        (self.shown(self.head), self.shown(self.head + 1))
    }

    /// The way in which the task is joined to those before it.
    pub(crate) fn joint(&self) -> &'static str {
        let joins = |word: &Word| match &*word.shown {
            word if is_in(BESIDE, word) => Some("beside"),
            word if is_in(AFTER, word) => Some("after"),
            _ => None,
        };
        self.words.iter().take(JOINING_WORDS).find_map(joins).unwrap_or_default()
    }

    /// The place of the first word that points back: before what the task names itself, or after.
    pub(crate) fn pointer(&self) -> &'static str {
        let first = self.words.iter().position(|word| BACK.contains(&word.shown.as_str()));
        match (first, self.names().next()) {
            (None, _) => "none",
            (Some(back), Some(name)) if back > name => "later",
            _ => "first",
        }
    }

    /// Returns whether the task names what another one brings: "the findings", "what you found".
    pub(crate) fn result(&self) -> &'static str {
        let is_result = |at: usize| {
            let (before, word, next) = (self.before(at), self.shown(at), self.shown(at + 1));
            let is_noun = is_in(RESULTS, word) && !is_in("a an old last our", before);
            is_noun
                || is_in("what whatever which that as", word) && is_in("you they was changed happened", next)
        };
        if (1..self.words.len()).any(is_result) { "result" } else { "" }
    }

    /// Returns whether the task is about several others.
    pub(crate) fn all(&self) -> &'static str {
        if self.words.iter().any(|word| is_in(ALL, &word.shown)) { "all" } else { "" }
    }

    /// The places of words that name something: all but verbs.
    pub(crate) fn names(&self) -> impl Iterator<Item = usize> {
        let is_name = |at: &usize| {
            let word = &self.words[*at];
            has_content(word) && (!lexicon::is_verb(&word.stem) || self.is_definite(*at))
        };
        (0..self.words.len()).filter(is_name)
    }

    /// Returns true for a word that was named before, by the word in front of it.
    pub(crate) fn is_definite(&self, at: usize) -> bool {
        is_in(DEFINITE, self.before(at))
    }

    /// The places of names that another task has too, in some form.
    pub(crate) fn shared(&self, other: &TaskView<'_>) -> Vec<usize> {
        let is_shared = |at: &usize| {
            let wanted = family(&self.words[*at]);
            other.words.iter().any(|word| family(word) == wanted && has_content(word))
        };
        self.names().filter(is_shared).collect()
    }
}

fn is_in(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|other| other == word)
}

/// Returns true for a word that says what a task is about.
fn has_content(word: &Word) -> bool {
    word.shown.len() > 2 && !word.stem.starts_with('<') && !is_in(EMPTY, &word.shown)
}

/// The beginning of a word: "translate" and "translation" have the same.
fn family(word: &Word) -> &str {
    word.stem.get(..FAMILY).unwrap_or(&word.stem)
}
