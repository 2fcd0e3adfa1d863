//! What a request needs, estimated cautiously: only a request that clearly just looks, or just writes a document, needs
//! less than everything. A mode that cannot do all of a request makes a good model worse, so every doubt is a need.

use crate::{
    lexicon,
    means::Means,
    words::{Word, WordList},
};

/// Verbs after which nothing has changed, besides those of the class `look` and question words.
const LOOKING: WordList = WordList(
    "read list compare summarize summarise suggest recommend advise know see understand point walk think discuss identify \
     highlight report help confirm analyse clarify",
);

/// Verbs whose result is a thought, which is said or written down.
const THINKING: WordList = WordList(
    "design propose sketch outline decide choose pick prioritize prioritise evaluate weigh estimate brainstorm rank rate \
     draw",
);

/// Verbs that say nothing themselves: `do a review`, `write a story`, `put it into notes.md`.
const LIGHT: WordList = WordList("do perform conduct take have get run start put save collect turn");

/// Things that are only looked for.
const LOOKS: WordList = WordList("review audit look check assessment analysis overview opinion inspection");

/// Things that are documents, and nothing else.
const DOCUMENTS: WordList = WordList(
    "story stories requirement requirements criteria prd epic epics roadmap adr adrs rfc persona personas okrs proposal \
     specification brief journey diagram diagrams record",
);

/// Verbs that ask for a change wherever they stand in a sentence; other verbs do at the beginning of a command.
const CHANGING: WordList = WordList(
    "fix implement refactor patch rewrite rename remove delete replace migrate upgrade add update create install commit \
     push deploy merge revert apply change move convert generate scaffold repair build ensure reproduce harden run execute \
     benchmark restart mitigate",
);

/// Verbs of a statement that wants something to be different.
const WISHES: WordList = WordList("should must needs has wrong broken");

/// Words that point to commands or to the web, whatever the verb is: `do the tests pass?`,
/// `which dependencies are outdated?`
const RUNS: WordList = WordList(
    "pass passes passing fails failing compiles coverage installed branch kubectl npm cargo pip dependencies dependency \
     packages outdated latest online internet cve cves pr pull",
);

/// Words before a verb that make it a noun.
const NOUN_MARKS: WordList =
    WordList("the a an this that any each every no of our my your its their for in on with");

/// Words before a verb that take it back.
const NEGATIONS: WordList = WordList("don't dont not without never no nothing");

/// Words before a verb that make it a command.
const LEADS: WordList = WordList(
    "please pls plz and then you let's lets also just now must finally afterwards or to can could quickly help me",
);

/// Words of a message that only says thanks. `Ok` and `yes` are not among them: they agree to something.
const COURTESY: WordList = WordList(
    "thanks thank you thx great nice cool perfect good job work hi hello bye very much a lot so many that's it all for now \
     today",
);

/// The words before a verb in which a negation takes it back, and after it in which its object stands.
const BEFORE: usize = 3;
const AFTER: usize = 8;

/// Returns the least that a request needs.
pub(crate) fn needs(text: &str, words: &[Word]) -> Means {
    let is_one_of = |list: WordList, words: &[Word]| words.iter().any(|word| list.has(&word.shown));
    if !words.is_empty() && words.iter().all(|word| COURTESY.has(&word.shown)) {
        return Means::NONE;
    }
    if is_one_of(RUNS, words) {
        return Means::ALL;
    }
    let known = (0..words.len()).filter_map(|at| need_of(words, at));
    if let Some(needed) = known.reduce(|one, two| one | two) {
        return needed;
    }
    // Without a verb that is known: a question, or the name of what is wanted. Anything else may be meant.
    let head = &words[..words.len().min(AFTER)];
    match text.trim_end().ends_with('?') || is_one_of(LOOKS, head) {
        true => Means::LOOK,
        false if is_one_of(DOCUMENTS, head) => Means::LOOK | Means::DOCUMENTS,
        false => Means::ALL,
    }
}

/// Returns the need of a word, if it is a verb.
pub(crate) fn need_of(words: &[Word], at: usize) -> Option<Means> {
    let word = &words[at];
    let shown = word.shown.as_str();
    let before = &words[at.saturating_sub(BEFORE)..at];
    let last = before.last().map_or("", |word| word.shown.as_str());
    let is_noun = !word.begins && NOUN_MARKS.has(last);
    let is_form = shown.ends_with("ing") || (shown.ends_with("ed") && !word.begins);
    if word.is_of_file || word.stem.starts_with('<') || is_noun || is_form {
        return None;
    }
    let classes = lexicon::classes(&word.stem);
    let is_in = |names: &[&str]| lexicon::bits(names) & classes != 0;
    let is_command = word.begins || LEADS.has(last);
    let is_negated = || before.iter().any(|word| NEGATIONS.has(&word.shown));
    if CHANGING.has(shown) || (is_command && is_in(&["change", "make", "write", "do"]) && !LOOKING.has(shown))
    {
        let object = &words[at + 1..words.len().min(at + 1 + AFTER)];
        let is_light = LIGHT.has(shown) || is_in(&["write", "make"]);
        return match object_of(object).filter(|_| is_light) {
            _ if is_negated() => None,
            _ if is_in(&["look"]) => Some(Means::LOOK),
            _ if THINKING.has(shown) => Some(Means::LOOK | Means::DOCUMENTS),
            object => Some(object.unwrap_or(Means::ALL)),
        };
    }
    match is_command {
        // `The parser should skip blank lines` is a wish.
        false if WISHES.has(shown) => Some(Means::ALL),
        true if is_in(&["look", "ask"]) || LOOKING.has(shown) => Some(Means::LOOK),
        true if THINKING.has(shown) => Some(Means::LOOK | Means::DOCUMENTS),
        _ => None,
    }
}

/// Returns the need of a verb that says nothing itself, by its object.
fn object_of(object: &[Word]) -> Option<Means> {
    let is_file = |word: &Word| word.stem.starts_with("<.") && word.stem != "<.md>";
    let object = object.split(is_file).next().unwrap_or_default();
    object.iter().find_map(|word| match word.shown.as_str() {
        shown if LOOKS.has(shown) => Some(Means::LOOK),
        // It is made of the conversation, and said.
        "recipe" => Some(Means::NONE),
        shown if DOCUMENTS.has(shown) || word.stem == "<.md>" => Some(Means::LOOK | Means::DOCUMENTS),
        _ => None,
    })
}
