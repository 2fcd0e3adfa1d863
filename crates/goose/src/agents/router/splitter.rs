//! Tasks of a compound request. It is cut only where both sides are work for different modes.

use super::{
    classifier::{COUNT, is_app, is_code},
    lexicon,
    needs::{Ordered, needs},
    phrases,
    pieces::{Join, Piece, pieces},
    words::{Word, words},
};

/// The most tasks of a request.
pub(crate) const MAX_TASKS: usize = 8;

/// The fewest words of a task that say something.
const LEAST_WORDS: usize = 2;

/// The fewest words of a clause without a verb that is a task.
const LEAST_NOUNS: usize = 4;

/// The confidence above which the words before a list are a request of their own.
const HEADING_IS_REQUEST: f32 = 0.5;

/// The mode for a piece of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Choice {
    /// A number for the mode, equal for equal modes.
    pub(crate) mode: usize,
    pub(crate) confidence: f32,
    /// The probability of each mode that comes with goose.
    pub(crate) probabilities: [f32; COUNT],
    /// The mode is the default one.
    pub(crate) is_default: bool,
}

/// A task: the words of the request, its mode, and the places of the tasks that it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part<'t> {
    pub(crate) text: &'t str,
    pub(crate) choice: Choice,
    pub(crate) needs: Vec<usize>,
}

/// The tasks of a request; one where it is to stay whole. `choose` finds the mode of a piece.
pub(crate) fn split<'t>(text: &'t str, choose: impl Fn(&str) -> Choice) -> Vec<Part<'t>> {
    let pieces = pieces(text);
    let items = pieces.iter().filter(|piece| piece.join == Join::Item).count();
    let groups = match (pieces.len(), items) {
        (0 | 1, _) => Vec::new(),
        (_, 0 | 1) => of_sentences(text, &pieces, &choose),
        _ => of_list(text, &pieces, &choose),
    };
    if !(2..=MAX_TASKS).contains(&groups.len()) {
        return vec![Part { text, choice: choose(text), needs: Vec::new() }];
    }
    let ordered = |group: &Group| Ordered {
        text: group.span.text(text),
        join: group.span.join,
        label: group.choice.mode,
    };
    let ordered: Vec<Ordered<'_>> = groups.iter().map(ordered).collect();
    let parts = groups.iter().zip(&ordered).enumerate().map(|(at, (group, task))| Part {
        text: group.span.text(text),
        choice: group.choice,
        needs: needs(ordered.get(..at).unwrap_or_default(), *task),
    });
    parts.collect()
}

/// The tasks of a list. Where the words before the list are a request, its items are details.
fn of_list(text: &str, pieces: &[Piece], choose: &impl Fn(&str) -> Choice) -> Vec<Group> {
    let mut spans: Vec<Span> = Vec::new();
    for piece in pieces {
        match spans.last_mut() {
            Some(span) if piece.join != Join::Item => span.grow(text, piece.core.end),
            _ => spans.push(Span { join: piece.spoken, ..Span::new(text, piece) }),
        }
    }
    let has_heading = pieces.first().is_some_and(|first| first.join != Join::Item);
    let mut groups: Vec<Group> = spans.into_iter().map(|span| Group::new(text, span, choose)).collect();
    if has_heading {
        let heading = groups.remove(0);
        let announces = heading.span.words.iter().any(|word| {
            matches!(
                word.stem.as_str(),
                "thing"
                    | "task"
                    | "follow"
                    | "todo"
                    | "item"
                    | "point"
                    | "job"
                    | "order"
                    | "list"
                    | "request"
                    | "need"
            )
        });
        if !announces && !heading.choice.is_default && heading.choice.confidence > HEADING_IS_REQUEST {
            return Vec::new();
        }
    }
    let is_task = |group: &Group| {
        let least = if group.span.is_request() { 0.2 } else { 0.35 };
        group.span.words.len() > 1 && group.choice.confidence > least
    };
    if groups.iter().filter(|group| is_task(group)).count() * 4 < groups.len() * 3 {
        return Vec::new();
    }
    let mut joined: Vec<Group> = Vec::new();
    for group in groups {
        match joined.last_mut() {
            Some(last) if last.choice.mode == group.choice.mode || !is_task(&group) => {
                last.span.grow(text, group.span.end)
            }
            _ => joined.push(group),
        }
    }
    joined
}

/// The tasks of running text.
fn of_sentences(text: &str, pieces: &[Piece], choose: &impl Fn(&str) -> Choice) -> Vec<Group> {
    let spans = spans(text, pieces);
    if spans.len() < 2 {
        return Vec::new();
    }
    let mut groups: Vec<Group> = Vec::new();
    for span in spans {
        let next = Group::new(text, span, choose);
        match groups.last_mut() {
            Some(group) if !is_cut(group, &next) => group.add(text, &next, choose),
            _ => groups.push(next),
        }
    }
    // A task that has grown may have become one with its neighbour.
    let mut at = 1;
    while at < groups.len() {
        if is_cut(&groups[at - 1], &groups[at]) {
            at += 1;
        } else {
            let group = groups.remove(at);
            groups[at - 1].add(text, &group, choose);
            at = 1;
        }
    }
    groups
}

/// The parts of running text that could be tasks: pieces with their details.
fn spans(text: &str, pieces: &[Piece]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for piece in pieces {
        let next = Span::new(text, piece);
        match spans.last_mut() {
            Some(span) if next.is_detail() || span.says() < LEAST_WORDS => span.grow(text, next.end),
            _ => spans.push(next),
        }
    }
    spans
}

/// A part of a request.
#[derive(Clone)]
struct Span {
    join: Join,
    start: usize,
    end: usize,
    /// The start of its main clause.
    main: usize,
    words: Vec<Word>,
}

impl Span {
    fn new(text: &str, piece: &Piece) -> Self {
        let (start, end) = (piece.core.start, piece.core.end);
        let words = words(text.get(start..end).unwrap_or_default());
        Self { join: piece.join, start, end, main: piece.main, words }
    }

    fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    fn grow(&mut self, text: &str, end: usize) {
        self.end = end;
        self.words = words(self.text(text));
    }

    /// The first word that is not politeness.
    fn first(&self) -> Option<&Word> {
        self.words.iter().find(|word| !phrases::has("polite", &word.shown))
    }

    /// It begins with a verb that is known, or with a word that an article or pronoun follows as after verbs.
    fn begins_with_verb(&self) -> bool {
        let mut words = self.words.iter().skip_while(|word| phrases::has("polite", &word.shown));
        let (first, second) = (words.next(), words.next());
        let is_verb = |word: &Word| lexicon::is_verb(&word.stem) && !word.shown.ends_with("ing");
        let is_followed = second.is_some_and(|word| phrases::has("article", &word.shown));
        let is_other = |word: &Word| {
            phrases::has("article", &word.shown) || phrases::has("clause_continues", &word.shown)
        };
        first.is_some_and(|word| is_verb(word) || (is_followed && !is_other(word)))
    }

    /// It begins as requests do: with a verb or a question.
    fn is_request(&self) -> bool {
        let asks = self.words.first().is_some_and(|word| phrases::has("question", &word.shown));
        let wants = self.words.iter().take(3).any(|word| phrases::has("needs", &word.shown));
        asks || wants || self.begins_with_verb()
    }

    /// It belongs to the piece before, whatever the modes are.
    fn is_detail(&self) -> bool {
        let Some(first) = self.words.first() else { return true };
        if matches!(self.join, Join::Then | Join::Also) {
            return self.says() == 0;
        }
        if self.says() < LEAST_WORDS
            && !(self.words.len() > 1 && self.words.iter().any(|word| phrases::has("specific", &word.shown)))
        {
            return true;
        }
        if phrases::has("continues", &first.shown) {
            return true;
        }
        // "reads the list, fetches each page": not commands.
        let is_told = first.shown.ends_with('s')
            && first.shown != first.stem
            && lexicon::is_verb(&first.stem)
            && first.stem != "what";
        let goes_on =
            phrases::has("clause_continues", &first.shown) && !self.is_request() && self.words.len() < 7;
        let is_few = !self.is_request() && self.words.len() < LEAST_NOUNS;
        self.join == Join::Clause && (is_told || goes_on || is_few)
    }

    /// The number of words that say something.
    fn says(&self) -> usize {
        let says_little =
            |word: &Word| phrases::has("polite", &word.shown) || phrases::has("empty", &word.shown);
        self.words.iter().filter(|word| !says_little(word)).count()
    }

    /// It finishes the work before, or asks to hear about it.
    fn finishes(&self, before: &Self) -> bool {
        let Some(first) = self.first() else { return true };
        let is_sure = first.shown == "make" && self.words.iter().any(|word| word.shown == "sure");
        let is_report =
            phrases::has("report", &first.shown) && (self.says() < 3 || shares_word(before, self));
        is_sure || is_report || phrases::has("chore", &first.shown)
    }

    fn refers(&self) -> bool {
        let pronouns = ["it", "them", "they", "that", "this", "those", "here", "these", "each"];
        self.words.iter().any(|word| pronouns.contains(&word.shown.as_str()))
    }
}

/// A span that may be a task.
struct Group {
    span: Span,
    choice: Choice,
}

impl Group {
    fn new(text: &str, span: Span, choose: &impl Fn(&str) -> Choice) -> Self {
        Self { choice: choose(text.get(span.main..span.end).unwrap_or_default()), span }
    }

    fn add(&mut self, text: &str, next: &Self, choose: &impl Fn(&str) -> Choice) {
        self.span.grow(text, next.span.end);
        self.choice = choose(text.get(self.span.main..self.span.end).unwrap_or_default());
    }
}

/// Returns true if a task ends between two groups.
fn is_cut(group: &Group, next: &Group) -> bool {
    if group.choice.mode == next.choice.mode {
        return false;
    }
    let evidence = evidence(group, next);
    let sum: f32 = evidence.iter().zip(CUT_WEIGHTS).map(|(value, weight)| value * weight).sum();
    sum > LEAST_SUM
}

/// The sum from which a task ends: where it lies, single requests stay whole and most compound ones are cut.
const LEAST_SUM: f32 = -0.2;

/// The number of facts that speak for or against a cut.
const EVIDENCE: usize = 30;

/// The facts that speak for or against a cut, in the order of the weights.
fn evidence(group: &Group, next: &Group) -> [f32; EVIDENCE] {
    let flag = |is: bool| f32::from(u8::from(is));
    let join = next.span.join;
    let of = |one: &Group, other: &Group| {
        one.choice.probabilities.get(other.choice.mode).copied().unwrap_or_default()
    };
    let both = group.choice.probabilities.iter().zip(&next.choice.probabilities);
    let overlap: f32 = both.map(|(one, other)| one.min(*other)).sum();
    let (left, right) = (group.choice.confidence, next.choice.confidence);
    let (refers, finishes) = (flag(next.span.refers()), flag(next.span.finishes(&group.span)));
    let (asks, group_asks) = (flag(next.span.is_request()), flag(group.span.is_request()));
    let (is_default, was_default) = (flag(next.choice.is_default), flag(group.choice.is_default));
    let is_clause = flag(join == Join::Clause);
    let is_sentence = flag(join == Join::Sentence);
    let is_marked = flag(matches!(join, Join::Then | Join::Also));
    let prepares = flag(group.span.first().is_some_and(|word| phrases::has("prepare", &word.shown)));
    let is_project = next.span.words.iter().any(|word| phrases::has("project", &word.shown));
    let of_app = flag(
        is_app(group.choice.mode) && !is_project && (next.choice.is_default || is_code(next.choice.mode)),
    );
    let shares = flag(shares_word(&group.span, &next.span));
    let few = |span: &Span, most: usize| flag(span.says() <= most);
    [
        1.0,
        is_clause,
        is_sentence,
        flag(join == Join::Also),
        left,
        right,
        left * right,
        of(group, next),
        of(next, group),
        overlap,
        is_clause * left * right,
        is_marked * left * right,
        asks,
        group_asks,
        is_clause * asks,
        is_default,
        was_default,
        is_default * is_clause,
        was_default * is_clause,
        is_default * asks,
        was_default * group_asks,
        refers,
        refers * is_default,
        finishes * is_default,
        finishes,
        prepares * was_default,
        prepares * was_default * refers,
        of_app * (1.0 - is_marked),
        shares,
        few(&next.span, 2) + few(&next.span, 3) + few(&group.span, 2),
    ]
}

/// Weights of the facts, fitted to compound and single requests.
const CUT_WEIGHTS: [f32; EVIDENCE] = [
    -2.05, -1.36, -0.40, -0.88, 1.21, 1.82, 2.50, -2.08, -2.98, -7.19, 1.17, 2.83, -0.09, -0.09, 0.03, -1.29,
    -2.26, -1.36, -0.85, 1.47, 2.73, 1.33, -1.55, -1.28, 0.24, -1.92, -0.00, -0.95, 0.18, -1.83,
];

/// Returns true if both name the same thing.
fn shares_word(one: &Span, other: &Span) -> bool {
    let says = |word: &&Word| {
        word.shown.len() > 3 && !word.stem.starts_with('<') && !phrases::has("polite", &word.shown)
    };
    one.words.iter().filter(says).any(|word| other.words.iter().any(|same| same.stem == word.stem))
}
