//! Dependencies between the tasks of a request, from the words of both and from their modes.
//!
//! A task needs an earlier one if it works on, tests, describes or continues what that one makes, or if the words say so: "then", "once
//! that is done", "with the result". Only direct needs count: the test of a page that uses an endpoint needs the page, and the endpoint
//! too where the words are "both" or "all of it". Everything else runs side by side, also two tasks on one subject.

use std::cmp::Ordering;

use super::{
    lattice::{BACK, Values, size, slug},
    lexicon,
    pieces::Request,
    splitter::Part,
    table::{Column, hash},
    task_view::{JOINING_WORDS, TaskView},
};

/// The most words of a task that are features.
const MAX_WORDS: usize = 25;

/// The longest word that may be one of grammar: "it", "those".
const SHORT: usize = 5;

/// The places of the tasks that each task needs. A task may need a later one: "release it, but first fix the tests".
pub(crate) fn needs(request: &Request, parts: &[Part], weights: Column<'_>) -> Vec<Vec<usize>> {
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
    for task in 1..parts.len() {
        let before = task - 1;
        let reverse = weights.sum(&reverse_features(request, parts, task));
        for other in (0..task).rev() {
            let score = weights.sum(&features(request, parts, other, task, &needs));
            if other == before && reverse > score.max(0.0) {
                needs[before].push(task);
            } else if score > 0.0 {
                needs[task].insert(0, other);
            }
        }
    }
    needs
}

/// The features that speak for a task needing an earlier one. `needs` has what the tasks before need, and which tasks between the two
/// this one needs.
pub(crate) fn features(
    request: &Request,
    parts: &[Part],
    other: usize,
    task: usize,
    needs: &[Vec<usize>],
) -> Values {
    let (earlier, later) = (TaskView::new(request, parts[other]), TaskView::new(request, parts[task]));
    let mut pair = Pair {
        distance: if task - other == 1 { "next" } else { "far" },
        joint: later.joint(),
        pointer: later.pointer(),
        signs: &request.pieces[parts[task].start].signs,
        earlier,
        later,
        found: Values::new(),
    };
    pair.add_joint();
    pair.add_words();
    let shared = pair.add_subject();
    if task > 1 {
        let others = (0..task).filter(|at| *at != other).map(|at| TaskView::new(request, parts[at]));
        let most = others.map(|other| pair.later.shared(&other).len()).max().unwrap_or_default();
        pair.add_place(shared, most);
        pair.add_needs(parts, other, task, needs);
    }
    pair.add(&["tasks", pair.distance, if parts.len() > 2 { "many" } else { "two" }]);
    pair.found
}

/// A task and one before it, with the features that speak for a need.
struct Pair<'a> {
    earlier: TaskView<'a>,
    later: TaskView<'a>,
    distance: &'static str,
    joint: &'static str,
    pointer: &'static str,
    /// The signs before the later task.
    signs: &'a str,
    found: Values,
}

impl Pair<'_> {
    fn add(&mut self, parts: &[&str]) {
        self.found.push((hash(parts), 1.0));
    }

    /// Adds how the later task is joined to what is before it, and the modes.
    fn add_joint(&mut self) {
        let Self { distance, joint, pointer, signs, .. } = *self;
        let (from, to) = (self.earlier.mode, self.later.mode);
        let [one, two, three] = [0, 1, 2].map(|at| self.later.shown(at));
        for distance in ["", distance] {
            self.add(&["any", distance]);
            self.add(&["signs", distance, signs]);
            self.add(&["pair", distance, from, to]);
            self.add(&["one", distance, one]);
            self.add(&["two", distance, one, two]);
            self.add(&["three", distance, one, two, three]);
            self.add(&["joint", distance, joint]);
            self.add(&["pointer", distance, pointer]);
            self.add(&["joint pointer", distance, joint, pointer]);
        }
        self.add(&["from", distance, from]);
        self.add(&["to", distance, to]);
        self.add(&["joint pair", joint, from, to]);
        self.add(&["joint signs", joint, signs]);
        self.add(&["pointer pair", pointer, from, to]);
        self.add(&["pointer to", pointer, to]);
        self.add(&["pointer from", pointer, from]);
        self.add(&["pointer signs", pointer, signs]);
        self.add(&["signs to", signs, to]);
        self.add(&["signs pair", signs, from, to]);
    }

    /// Adds the words of both tasks.
    fn add_words(&mut self) {
        let Self { distance, pointer, .. } = *self;
        let (from, to) = (self.earlier.mode, self.later.mode);
        let words = self.later.words;
        for (at, word) in words.iter().enumerate().take(MAX_WORDS) {
            let [before, next, after] =
                [self.later.before(at), self.later.shown(at + 1), self.later.shown(at + 2)];
            let word_shown = word.shown.as_str();
            self.add(&["word", distance, word_shown]);
            self.add(&["words", distance, word_shown, next]);
            if word_shown.len() <= SHORT {
                self.add(&["short", word_shown, next, after]);
                self.add(&["short at", if at < 3 { "begin" } else { "later" }, word_shown]);
                self.add(&["short end", word_shown, if at + 1 == words.len() { "end" } else { "" }]);
            }
            if self.later.is_definite(at) {
                self.add(&["named", before, &word.stem]);
                self.add(&["named from", from, &word.stem]);
            }
            if BACK.contains(&word_shown) {
                self.add(&["before back", before, word_shown]);
                self.add(&["before back", before]);
            }
        }
        for word in self.earlier.words.iter().take(MAX_WORDS) {
            self.add(&["earlier", distance, &word.stem]);
        }
        let ((head, next), (earlier_head, _)) = (self.later.head(), self.earlier.head());
        for head in ["", head] {
            self.add(&["head", distance, head, next]);
            self.add(&["head from", from, head]);
            self.add(&["head pointer", pointer, head]);
        }
        self.add(&["head pair", earlier_head, head]);
        self.add(&["earlier head", earlier_head]);
        self.add(&["earlier head", earlier_head, to]);
        self.add(&["earlier head", earlier_head, pointer]);
        self.add(&["length", size(words.len()), pointer]);
    }

    /// Adds what the later task is about. Returns how many names it shares with the earlier one.
    fn add_subject(&mut self) -> usize {
        let Self { distance, joint, pointer, .. } = *self;
        let (from, to) = (self.earlier.mode, self.later.mode);
        let names: Vec<usize> = self.later.names().collect();
        for at in &names {
            let is_definite = self.later.is_definite(*at);
            for class in lexicon::names_of(lexicon::classes(&self.later.words[*at].stem)) {
                self.add(&["class from", class, from]);
                self.add(&["class pair", class, from, to]);
                if is_definite {
                    self.add(&["definite class", class, from]);
                }
            }
        }
        let shared = self.later.shared(&self.earlier);
        for at in &shared {
            self.add(&["before shared", self.later.before(*at)]);
            self.add(&["before shared", self.later.before(*at), distance]);
            self.add(&["shared to", to]);
            self.add(&["shared head", self.later.head().0]);
        }
        let (count, own) = (few(shared.len()), size(names.len() - shared.len()));
        self.add(&["shared", distance, count]);
        self.add(&["shared joint", count, joint]);
        self.add(&["shared pointer", count, pointer]);
        self.add(&["shared pair", count, from, to]);
        self.add(&["shared own", count, own]);
        self.add(&["own", own]);
        self.add(&["own pointer", own, pointer]);
        self.add(&["own joint", own, joint, pointer]);
        let result = self.later.result();
        self.add(&["result", result]);
        self.add(&["result", result, distance]);
        self.add(&["result from", result, from]);
        self.add(&["result to", result, to]);
        self.add(&["result joint", result, joint]);
        let is_free = pointer == "none" && result.is_empty() && joint != "after" && shared.is_empty();
        let free = if is_free { "free" } else { "" };
        self.add(&["free", free, distance, joint]);
        self.add(&["free", free, own]);
        self.add(&["free pair", free, from, to]);
        self.add(&["all", distance, self.later.all()]);
        shared.len()
    }

    /// Adds whether another task before shares more names with the later one.
    fn add_place(&mut self, shared: usize, most: usize) {
        let Self { distance, pointer, .. } = *self;
        let place = match shared.cmp(&most) {
            Ordering::Less => "elsewhere",
            Ordering::Equal if shared == 0 => "nowhere",
            Ordering::Equal => "everywhere",
            Ordering::Greater => "here",
        };
        self.add(&["place", place]);
        self.add(&["place", place, distance]);
        self.add(&["place", place, distance, pointer]);
        self.add(&["place all", place, distance, self.later.all()]);
    }

    /// Adds what is known of the needs of the tasks between the two.
    fn add_needs(&mut self, parts: &[Part], other: usize, task: usize, needs: &[Vec<usize>]) {
        let yes = |is_needed: bool| if is_needed { "needs" } else { "" };
        let (from, to) = (self.earlier.mode, self.later.mode);
        self.add(&["before", self.distance, yes(!needs[task - 1].is_empty())]);
        if self.distance == "next" {
            self.add(&["first mode", slug(parts[other - 1].label), from, to]);
            return;
        }
        let between = yes(needs[other + 1..task].iter().any(|needs| needs.contains(&other)));
        let near = yes(needs[task].contains(&(task - 1)));
        let middle = slug(parts[task - 1].label);
        let shared = few(self.later.shared(&self.earlier).len());
        self.add(&["between", between]);
        self.add(&["near", near]);
        self.add(&["near", near, between]);
        self.add(&["near all", near, between, self.later.all()]);
        self.add(&["near shared", near, between, shared]);
        self.add(&["near modes", near, middle, from, to]);
        self.add(&["between", middle, from, to]);
    }
}

fn few(count: usize) -> &'static str {
    ["0", "1", "more"][count.min(2)]
}

/// The features that speak for a task being needed by the one before it.
pub(crate) fn reverse_features(request: &Request, parts: &[Part], task: usize) -> Values {
    let (earlier, later) = (TaskView::new(request, parts[task - 1]), TaskView::new(request, parts[task]));
    let signs = request.pieces[parts[task].start].signs.as_str();
    let [one, two, three] = [0, 1, 2].map(|at| later.shown(at));
    let mut found = Values::new();
    let mut add = |parts: &[&str]| found.push((hash(&[&["reverse"], parts].concat()), 1.0));
    add(&["any"]);
    add(&["signs", signs]);
    add(&["one", one]);
    add(&["one", one, signs]);
    add(&["two", one, two]);
    add(&["three", one, two, three]);
    add(&["earlier one", earlier.shown(0)]);
    add(&["earlier two", earlier.shown(0), earlier.shown(1)]);
    add(&["last", later.before(later.words.len())]);
    for (at, word) in later.words.iter().enumerate().take(MAX_WORDS) {
        add(&["word", &word.shown]);
        add(&["words", &word.shown, later.shown(at + 1)]);
        if at < JOINING_WORDS {
            add(&["begin", &word.shown]);
        }
    }
    found
}
