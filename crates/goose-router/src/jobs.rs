//! Explicit lists of independent jobs: the only requests that are split into tasks.
//!
//! A list is numbered, has bullets, or a job in each line. Each of its items stands alone: a verb, an object of its
//! own, and nothing that points to another item. What stands before and after the list asks for nothing itself and
//! names no result that all share. Whatever is not clearly so is one request: a ticket, a log, a chain of steps.

use std::{collections::HashSet, ops::Range};

use crate::{
    lexicon,
    words::{Word, WordList, words},
};

/// The number of jobs of a list.
pub(crate) const JOBS: std::ops::RangeInclusive<usize> = 2..=8;

/// The longest list, and the most words of one item and of what stands around the list.
pub(crate) const MAX_BYTES: usize = 4_000;
const MAX_ITEM_WORDS: usize = 60;
const MAX_AROUND_WORDS: usize = 30;

/// The fewest lines without marks that are a list, if nothing announces one.
const MIN_PLAIN_LINES: usize = 3;

/// Words that point to something outside of an item, unless the item itself has named it before.
const REFERENCES: WordList =
    WordList("it them they these those there both ones above previous former latter again");

/// Words that make an item a step after another one: where it begins, and those that do wherever they stand.
const STEPS: WordList = WordList("then finally next once step same");
const STEPS_ANYWHERE: WordList = WordList("afterwards everything that's");

/// Verbs that steps of one procedure begin with, such as those to reproduce a bug or to set something up.
const PROCEDURE: WordList =
    WordList("open click clone start launch navigate press enter type go see log wait scroll select");

/// Words after `the` that mean what another item brings about.
const RESULTS: WordList = WordList(
    "fix fixes result results change changes finding findings output branch rest others implementation design",
);

/// Words after `this` that mean where the work is.
const PLACES: WordList =
    WordList("repo repository project folder directory machine computer codebase week month year");

/// Words around a list that make one job of it.
const ONE_JOB: WordList = WordList(
    "commit commits pr mr pull branch together single steps step sequence requirements requirement criteria acceptance \
     ticket issue story feature spec error errors output log logs reproduce expected actual observed happens like should \
     must bug plan agenda notes options option which why whether approach same files each between vs then afterwards \
     finally it that",
);

/// Words around a list that say that its items have nothing to do with each other.
const SEPARATE: WordList =
    WordList("independent independently unrelated separate separately parallel own any nothing");

/// Words around a list that say that its items are jobs.
const ANNOUNCED: WordList = WordList(
    "things tasks todo todos jobs chores favors favours leftovers bugs fixes wins stuff batch requests errands",
);

/// Words that stand for the list that follows, unless a noun comes after them: `these fields`.
const FOLLOWING: WordList = WordList("these following");

/// Words in front of the verb of an item.
const LEADS: WordList = WordList("please pls plz can could you u would also and just to i need want");

/// Verbs that ask for what follows.
const WISHES: WordList = WordList("need want");

/// Words before a noun.
const DETERMINERS: WordList = WordList("the a an our my all every each any");

/// Words that a statement begins with.
const SUBJECTS: WordList = WordList("it he she they we i there this that when if as users user");

/// Words that say what is done with any work, but not on what.
const COMMON: WordList = WordList(
    "test tests testing doc docs documentation changelog code change changes commit push pr build lint linter result \
     results output fix fixes bug bugs issue issues error errors all project repo repository feature everything file files \
     ci release the and for with from into about that this which whether what how why where when our your you are any has \
     have not but can could should would does did was were been will than its out old new one two unit short missing unused \
     list some more each every over under between there them they set make add use write find check please small instead \
     own only also using via per version src just still same both again after before then step give get want need like \
     three four pls plz hey hello thanks today morning",
);

/// Number words.
const NUMBERS: &[(&str, usize)] = &[("two", 2), ("three", 3), ("four", 4), ("five", 5), ("six", 6)];

/// The most items that `a couple` or `a few` announces.
const MAX_FEW: usize = 6;

/// The jobs of a request that is an explicit list of independent ones, as places in the text. Empty if it is not.
pub(crate) fn jobs(text: &str) -> Vec<Range<usize>> {
    let is_heading = |line: &str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let is_ticket = || text.contains("```") || text.lines().any(|line| is_heading(line.trim_start()));
    if text.len() > MAX_BYTES || is_ticket() {
        return Vec::new();
    }
    let forms = [marked_lines, marks_in_line, plain_lines, clauses];
    let mut lists = forms.iter().filter_map(|list| list(text));
    let found = lists.find(|list| JOBS.contains(&list.items.len()));
    found.filter(|list| is_independent(text, list)).map(|list| list.items).unwrap_or_default()
}

/// A list in a text: its items, and what stands before and after them.
pub(crate) struct List {
    pub(crate) items: Vec<Range<usize>>,
    pub(crate) before: Range<usize>,
    pub(crate) after: Range<usize>,
}

/// An item: its words without a name of a part of the project in front (`web: replace the icon`), and that name.
struct Item {
    words: Vec<Word>,
    scope: Option<String>,
}

impl Item {
    fn new(text: &str) -> Self {
        let bracket = text.strip_prefix('[').and_then(|text| text.split_once(']'));
        let colon = text.split_once(": ").filter(|(scope, _)| !scope.trim().contains(' '));
        let (scope, rest) = bracket.or(colon).map_or((None, text), |(scope, rest)| (Some(scope), rest));
        Self { words: words(rest.trim_start_matches(':')), scope: scope.map(str::to_lowercase) }
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.shown.as_str())
    }

    /// The place of the first word after `please`, `can you` and the like.
    fn start(&self) -> usize {
        self.words.iter().position(|word| !LEADS.has(&word.shown)).unwrap_or_default()
    }

    /// Returns true if it begins with a verb or a question word, known ones or before a noun (`purge the …`).
    fn has_verb(&self) -> bool {
        let at = self.start();
        let is_unknown_verb = self.words.get(at).is_some_and(is_object) && DETERMINERS.has(self.word(at + 1));
        self.words.get(at).is_some_and(is_doing) || is_unknown_verb
    }

    /// Returns true if it says what it is about, and points to nothing else.
    fn stands_alone(&self) -> bool {
        let first = self.start();
        let is_pointing = (0..self.words.len()).any(|at| self.points(at));
        !is_pointing && self.words.len() <= MAX_ITEM_WORDS && self.words.iter().skip(first).any(is_object)
    }

    /// Returns true if the word at a place points to another item.
    fn points(&self, at: usize) -> bool {
        let (last, next) = (at.checked_sub(1).map_or("", |at| self.word(at)), self.word(at + 1));
        let has_named =
            || self.words[..at].iter().skip(self.start() + 1).filter(|word| is_object(word)).count() > 1;
        match self.word(at) {
            "there" if ["is", "are"].contains(&next) => false,
            "that" => {
                let is_object = next.is_empty() || last.is_empty() || lexicon::is_verb(last);
                (is_object || ["after", "for", "with", "of"].contains(&last)) && !has_named()
            }
            "this" => !PLACES.has(next) && !has_named(),
            word if REFERENCES.has(word) => !has_named(),
            word if STEPS.has(word) => at <= self.start(),
            word => {
                // `the branch`, but not `the branch feature/menu`.
                let is_named = self.words.get(at + 1).is_some_and(|next| next.stem.starts_with('<'));
                STEPS_ANYWHERE.has(word) || (last == "the" && RESULTS.has(word) && !is_named)
            }
        }
    }
}

fn is_independent(text: &str, list: &List) -> bool {
    let part = |place: &Range<usize>| text.get(place.clone()).unwrap_or_default();
    let (before, after) = (words(part(&list.before)), words(part(&list.after)));
    if before.len().max(after.len()) > MAX_AROUND_WORDS {
        return false;
    }
    let items: Vec<Item> = list.items.iter().map(|place| Item::new(part(place))).collect();
    let is_job = |item: &&Item| item.scope.is_some() || item.has_verb();
    // A message that is nothing but a list is one of jobs. Below a title, as tickets have, only commands are.
    let jobs = items.iter().filter(is_job).count();
    let is_bare = before.is_empty() && after.is_empty() && jobs * 2 >= items.len();
    let is_headless = !before.iter().any(is_object) && jobs * 2 > items.len();
    let is_below_title = !is_ticket_title(part(&list.before)) && jobs == items.len();
    let are_jobs = is_bare || is_headless || is_below_title || is_announced(&before, items.len());
    let is_separate = before.iter().chain(&after).any(|word| SEPARATE.has(&word.shown));
    let is_statement = |item: &Item| SUBJECTS.has(item.word(0)) && item.scope.is_none();
    let steps = items.iter().filter(|item| PROCEDURE.has(item.word(item.start()))).count();
    are_jobs
        && steps < 2
        && !items.iter().any(is_statement)
        && (is_separate || (asks_for_nothing(&before) && asks_for_nothing(&after)))
        && items.iter().all(Item::stands_alone)
        && share_nothing(&items)
}

/// Returns true for a text with a name of code, a number of an issue, or emphasis.
fn is_ticket_title(text: &str) -> bool {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase() || matches!(c, '#' | '-'));
        digits.len() < word.len() && digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let trim = |c: char| !c.is_alphanumeric() && c != '#';
    text.contains(['`', '*']) || text.split_whitespace().any(|word| is_number(word.trim_matches(trim)))
}

/// Returns true if what stands before a list says that jobs follow: it calls them so, counts them, or ends with a verb
/// that has no object.
fn is_announced(before: &[Word], count: usize) -> bool {
    let last = before.iter().rposition(|word| !WordList("me us please pls").has(&word.shown));
    let is_open =
        |at: usize| WISHES.has(&before[at].shown) || (is_command(before, at) && is_doing(&before[at]));
    let ends_open = last.is_some_and(is_open);
    ends_open
        || stands_for_list(before)
        || counts(before, count)
        || before.iter().any(|word| SEPARATE.has(&word.shown))
}

/// Returns true if words say how many items there are.
fn counts(words: &[Word], count: usize) -> bool {
    let is_few = |word: &Word| WordList("couple few several").has(&word.shown) && count <= MAX_FEW;
    let is_number =
        |word: &Word| NUMBERS.iter().any(|(name, number)| *name == word.shown && *number == count);
    words.iter().any(|word| is_number(word) || is_few(word))
}

/// Returns true if words name the list that follows: `these things`, `the following while I am away`.
fn stands_for_list(words: &[Word]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let is_noun = |next: &Word| is_object(next) && !is_filler(next);
        ANNOUNCED.has(&word.shown) || (FOLLOWING.has(&word.shown) && !words.get(at + 1).is_some_and(is_noun))
    })
}

/// Returns true for a word that goes on after `these` without a noun.
fn is_filler(word: &Word) -> bool {
    WordList("while until when today now tonight tomorrow first please for").has(&word.shown)
}

/// Returns true if what stands around a list asks for nothing itself, and names nothing that all items share.
fn asks_for_nothing(words: &[Word]) -> bool {
    let is_one_of = |list: WordList| words.iter().any(|word| list.has(&word.shown));
    let asks = |(at, word): (usize, &Word)| {
        let object = &words[at + 1..];
        let is_verb = WISHES.has(&word.shown) || (is_command(words, at) && is_doing(word));
        is_verb && object.iter().any(is_object) && !stands_for_list(object)
    };
    let is_question = is_one_of(WordList("what how who where"));
    !is_question && !is_one_of(ONE_JOB) && !words.iter().enumerate().any(asks)
}

/// Returns true if a verb at a place is a command.
fn is_command(words: &[Word], at: usize) -> bool {
    words[at].begins || at.checked_sub(1).is_some_and(|last| LEADS.has(&words[last].shown))
}

fn is_doing(word: &Word) -> bool {
    !word.stem.starts_with('<') && lexicon::is_verb(&word.stem)
}

/// Returns true for a word that says what a job is about.
fn is_object(word: &Word) -> bool {
    word.shown.len() > 2 && !COMMON.has(&word.shown)
}

/// Returns true if no two items are about the same thing, as far as rare words tell, and words that an item presumes as
/// known (`the endpoint`) after another one had them.
fn share_nothing(items: &[Item]) -> bool {
    let mut seen: HashSet<&str> = HashSet::new();
    items.iter().all(|item| {
        let is_new = item.words.iter().enumerate().all(|(at, word)| {
            // `the endpoint`, `the new endpoint`; but `the login page` is another one than `the start page`.
            let before = item.words[..at].iter().rev().map(|word| word.shown.as_str());
            let is_presumed = before.take(2).find(|word| !COMMON.has(word) || *word == "the") == Some("the");
            let tells = is_presumed || lexicon::classes(&word.stem) == 0;
            !(tells && seen.contains(word.stem.as_str()))
        });
        let is_name = |word: &&Word| is_object(word) && !word.stem.starts_with('<');
        seen.extend(item.words.iter().filter(is_name).map(|word| word.stem.as_str()));
        is_new
    })
}

/// Lines that begin with a bullet or a number, each with the lines that belong to it.
pub(crate) fn marked_lines(text: &str) -> Option<List> {
    let (mut items, mut indent, mut after): (Vec<Range<usize>>, usize, Option<usize>) = (Vec::new(), 0, None);
    let mut first = 0;
    let mut is_blank = false;
    for (start, line) in lines(text) {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        let mark = mark(trimmed, items.len() + 1).filter(|_| items.is_empty() || depth <= indent);
        match (mark, after, items.last_mut()) {
            (Some(_), Some(_), _) => return None,
            (Some(mark), None, last) => {
                if last.is_none() {
                    (first, indent) = (start, depth);
                }
                items.push(start + depth + mark..start + line.trim_end().len());
            }
            (None, None, Some(last)) if !trimmed.is_empty() => match depth > indent && !is_blank {
                true => last.end = start + line.trim_end().len(),
                false => after = Some(start),
            },
            _ => {}
        }
        is_blank = trimmed.is_empty();
    }
    let after = after.unwrap_or(text.len())..text.len();
    (!items.is_empty()).then_some(List { before: 0..first, items, after })
}

/// The lines of a text with their places.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    })
}

/// The length of the mark that the item of a number begins with: `-`, `*`, `1.`, `1)`, `(1)`, `1/`, `1`, `a)`, `A.`,
/// `II)`.
fn mark(line: &str, number: usize) -> Option<usize> {
    let bullet = line.strip_prefix(['-', '*', '•', '–', '+', '→']).or_else(|| line.strip_prefix("[ ]"));
    let rest = bullet.or_else(|| numbered(line, number))?;
    let plain = rest.strip_prefix(" [ ]").unwrap_or(rest);
    let word = plain.trim_start();
    (word.len() < plain.len() && !word.is_empty()).then(|| line.len() - word.len())
}

/// The text after a number or letter of a list.
fn numbered(line: &str, number: usize) -> Option<&str> {
    let inner = line.strip_prefix(['(', '#']).unwrap_or(line);
    let (label, rest) = inner.split_at(inner.find(|c: char| !c.is_ascii_alphanumeric())?);
    let letter = ('a'..='z').nth(number - 1).map(String::from);
    let roman = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii"].get(number - 1);
    let is_number = label.bytes().all(|byte| byte.is_ascii_digit()) && label.len() < 4;
    let lower = label.to_ascii_lowercase();
    let is_letter =
        letter.is_some_and(|letter| letter == lower) || roman.is_some_and(|roman| *roman == lower);
    let ends: &[char] = if is_number { &[')', '.', '/'] } else { &[')', '.'] };
    match rest.strip_prefix(ends).filter(|_| is_number || is_letter) {
        Some(rest) => Some(rest.strip_prefix(')').unwrap_or(rest)),
        None => Some(rest).filter(|_| label == number.to_string() && !line.starts_with('(')),
    }
}

/// `1. … 2. …`, `(a) … (b) …` or `First, … Second, …` within a line.
pub(crate) fn marks_in_line(text: &str) -> Option<List> {
    const FORMS: [fn(usize) -> Option<String>; 8] = [
        |at| Some(format!("{}.", at + 1)),
        |at| Some(format!("{})", at + 1)),
        |at| Some(format!("({})", at + 1)),
        |at| ('a'..='z').nth(at).map(|letter| format!("({letter})")),
        |at| ('a'..='z').nth(at).map(|letter| format!("{letter})")),
        |at| ["first", "second", "third", "fourth", "fifth", "sixth"].get(at).map(|word| (*word).to_owned()),
        |at| ["one", "two", "three", "four"].get(at).map(|word| format!("{word}:")),
        |at| ["firstly", "secondly", "thirdly", "fourthly"].get(at).map(|word| (*word).to_owned()),
    ];
    let lower = text.to_ascii_lowercase();
    let mut lists = FORMS.iter().filter_map(|form| in_line(text, &lower, *form));
    lists.find(|list| JOBS.contains(&list.items.len()))
}

fn in_line(text: &str, lower: &str, form: fn(usize) -> Option<String>) -> Option<List> {
    let mut marks: Vec<Range<usize>> = Vec::new();
    while let Some(place) = form(marks.len())
        .filter(|_| marks.len() <= *JOBS.end())
        .and_then(|mark| find_mark(lower, &mark, marks.last().map_or(0, |last| last.end)))
    {
        marks.push(place);
    }
    let ends = marks.iter().skip(1).map(|next| next.start).chain([text.len()]);
    let items = marks.iter().zip(ends).map(|(mark, end)| trimmed(text, mark.end..end)).collect();
    Some(List { items, before: 0..marks.first()?.start, after: text.len()..text.len() })
}

/// The place of a mark that stands alone.
fn find_mark(text: &str, mark: &str, from: usize) -> Option<Range<usize>> {
    let is_end = |c: char| c.is_whitespace() || (matches!(c, ',' | ':') && !mark.ends_with(['.', ')']));
    text.get(from..)?.match_indices(mark).map(|(at, mark)| from + at..from + at + mark.len()).find(|place| {
        let before = text[..place.start].chars().next_back();
        let after = text[place.end..].chars().next();
        before.is_none_or(char::is_whitespace) && after.is_some_and(is_end)
    })
}

/// A place without the spaces and joining words at its ends.
pub(crate) fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let part = text.get(place.clone()).unwrap_or_default();
    let start =
        place.end - part.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':')).len();
    let mut part = text.get(start..place.end).unwrap_or_default().trim_end();
    for word in [" and", ",", ";", "."] {
        part = part.strip_suffix(word).unwrap_or(part).trim_end();
    }
    start..start + part.len()
}

/// A job in each line, without marks.
fn plain_lines(text: &str) -> Option<List> {
    let found: Vec<Range<usize>> = lines(text)
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(start, line)| trimmed(text, start..start + line.len()))
        .collect();
    // One line, or more than a list and its title.
    if found.len() < *JOBS.start() || found.len() > *JOBS.end() + 1 {
        return None;
    }
    let first = text.get(found.first()?.clone())?;
    let is_announced = first.ends_with(':') || is_announced(&words(first), found.len() - 1);
    let skipped = usize::from(is_announced);
    let items = found[skipped..].to_vec();
    let parts: Vec<Item> = items.iter().map(|item| Item::new(&text[item.clone()])).collect();
    let (has_verbs, has_scopes) =
        (parts.iter().all(Item::has_verb), parts.iter().all(|item| item.scope.is_some()));
    let before = if is_announced { found[0].clone() } else { 0..0 };
    let is_list = has_scopes || (has_verbs && (is_announced || items.len() >= MIN_PLAIN_LINES));
    is_list.then_some(List { items, before, after: text.len()..text.len() })
}

/// Clauses behind a colon: `three things: fix …, drop …, make …`. Each begins with a verb, and their number is
/// announced.
fn clauses(text: &str) -> Option<List> {
    let (before, rest) = text.split_once(": ").filter(|(before, _)| !before.contains('\n'))?;
    let begin = text.len() - rest.len();
    let mut items: Vec<Range<usize>> = Vec::new();
    let mut from = begin;
    for (at, _) in rest.match_indices([',', ';']).chain([(rest.len(), "")]) {
        let clause = text.get(begin + at..)?.trim_start_matches([',', ';', ' ']);
        let next = clause.strip_prefix("and ").unwrap_or(clause);
        let first = || next.split_whitespace().find_map(|chunk| words(chunk).into_iter().next());
        if at == rest.len() || first().is_some_and(|word| is_doing(&word)) {
            items.push(trimmed(text, from..begin + at));
            from = text.len() - next.len();
        }
    }
    let before_words = words(before);
    let is_counted = stands_for_list(&before_words) || counts(&before_words, items.len());
    let is_list = is_counted && items.iter().all(|item| Item::new(&text[item.clone()]).has_verb());
    is_list.then_some(List { items, before: 0..before.len(), after: text.len()..text.len() })
}
