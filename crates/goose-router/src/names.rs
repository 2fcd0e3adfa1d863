//! Requests that name an agent in their own words: `as QA, …`, `ask the architect to …`, `do a security review of …`.
//!
//! A name alone is not enough: `what did the architect say?` is a question about that agent, and `the backend is slow`
//! about the backend.

use crate::{
    Means, RoutedMode, lexicon, needs,
    words::{Word, WordList},
};

/// Other names of built-in modes.
const ALIASES: &[(&str, &[&str])] = &[
    ("pm", &["product manager", "product owner", "pm"]),
    ("architect", &["software architect", "solution architect", "architect"]),
    ("backend", &["backend engineer", "backend developer", "backend dev", "backend agent"]),
    ("frontend", &["frontend engineer", "frontend developer", "frontend dev", "frontend agent"]),
    ("qa", &["qa engineer", "quality assurance", "tester", "qa"]),
    (
        "security",
        &[
            "security engineer",
            "security expert",
            "security reviewer",
            "security auditor",
            "security specialist",
            "security agent",
        ],
    ),
    ("sre", &["site reliability engineer", "sre"]),
    ("devsecops", &["devsecops engineer", "devsecops"]),
    ("judge", &["judge"]),
];

/// Modes that are called by their own names only after `as`, because those are plain words.
const AFTER_AS: [&str; 3] = ["security", "backend", "frontend"];

/// Work that is named after its specialist, behind a verb: `do a security review`.
const WORK: &[(&str, &[&str])] = &[
    (
        "security",
        &["security review", "security audit", "security assessment", "security check", "security analysis"],
    ),
    ("architect", &["architecture review", "architecture decision record"]),
    (
        "recipe_maker",
        &["into a recipe", "recipe from this", "recipe out of this", "recipe of this", "recipe from our"],
    ),
];

/// The mode for extensions and earlier sessions.
const ORCHESTRATOR: &str = "orchestrator";

/// The mode that writes plans, after an agent has looked around.
const PLANNER: &str = "planner";

/// Words after `plan` where it is a verb.
const AFTER_PLAN: WordList = WordList("the a an our my this how what out for");

/// Words for sessions before this one.
const EARLIER: WordList = WordList("earlier previous past last other old");
const SESSIONS: WordList = WordList("session sessions conversation conversations chat chats");

/// Words of a question about what was said there, rather than about sessions in a program.
const SHARED: WordList = WordList("we you my our");

/// Verbs for extensions; `turn` and `switch` with `on` or `off`.
const SWITCHING: WordList = WordList("enable disable activate deactivate");
const TURNING: WordList = WordList("turn switch");

/// Extensions that come with goose, and words after the name of an extension that end it.
const BUILT_IN: WordList = WordList("developer memory tutorial computercontroller autovisualiser todo");
const ENDS: WordList = WordList("and then please");
const STATES: WordList = WordList("enabled active available installed");

const ARTICLES: WordList = WordList("a an the our my your senior experienced as");
const ASKING: WordList = WordList("ask let have get tell use call");

/// The candidate that a request names, if it can do what the request needs.
pub(crate) fn named<'m>(words: &[Word], needed: Means, modes: &'m [RoutedMode]) -> Option<&'m RoutedMode> {
    let calls: Vec<usize> = (0..words.len()).filter(|at| is_call(words, *at)).collect();
    let mut named = modes.iter().filter(|candidate| match candidate.mode.as_str() {
        // It does its part, and another agent goes on.
        ORCHESTRATOR => is_for_orchestrator(words, needed),
        PLANNER => candidate.own_words.is_none() && is_for_planner(words),
        _ => is_named(words, &calls, candidate),
    });
    let is_step = |found: &RoutedMode| matches!(found.mode.as_str(), ORCHESTRATOR | PLANNER);
    let found = named.next().filter(|found| is_step(found) || found.means.covers(needed));
    // A request for two of them is for neither.
    found.filter(|_| named.next().is_none())
}

/// Returns true for a request about extensions or earlier sessions: `enable the tutorial`,
/// `what did we say in the last session?`
fn is_for_orchestrator(words: &[Word], needed: Means) -> bool {
    let only_looks = Means::LOOK.covers(needed);
    let is_at = |at: usize, list: WordList| words.get(at).is_some_and(|word| list.has(&word.shown));
    let has = |list: WordList| words.iter().any(|word| list.has(&word.shown));
    let is_extension = |at: usize| is_at(at, WordList("extension extensions"));
    let names_extension = |at: usize| {
        let name = after_articles(words, at);
        let is_end = |at: usize| at >= words.len() || words[at].begins || is_at(at, ENDS);
        let is_known = is_at(name, BUILT_IN) && is_end(name + 1 + usize::from(is_extension(name + 1)));
        is_known || (name + 1..name + 3).any(|at| is_extension(at) && is_end(at + 1))
    };
    (0..words.len()).any(|at| {
        let begins = || words[at].begins || (at > 0 && is_lead(&words[at - 1]));
        let is_code = || words[at..words.len().min(at + 6)].iter().any(|word| word.stem.starts_with('<'));
        let turns = is_at(at, TURNING) && is_at(at + 1, WordList("on off"));
        let is_switch = (turns || is_at(at, SWITCHING)) && begins() && !is_code();
        let is_list =
            is_at(at, WordList("which what list")) && (at + 1..at + 4).any(is_extension) && begins();
        (is_switch && names_extension(at + 1 + usize::from(turns)))
            || (is_list && only_looks && (words[at].shown == "list" || has(STATES)))
            || (is_at(at, EARLIER) && is_at(at + 1, SESSIONS) && only_looks && has(SHARED))
    })
}

/// Returns true for a request that is a command to plan, and nothing else: `Plan the move to …`.
fn is_for_planner(words: &[Word]) -> bool {
    let is_at = |at: usize, list: WordList| words.get(at).is_some_and(|word| list.has(&word.shown));
    let is_polite = |word: &Word| is_lead(word) || WordList("can could would hi hey").has(&word.shown);
    let Some(verb) = words.iter().position(|word| !is_polite(word)) else { return false };
    let is_verb = words[verb].shown == "plan" && is_at(verb + 1, AFTER_PLAN);
    // Something else that is asked for, after or with the plan.
    let asks_for_more = (verb + 1..words.len()).any(|at| {
        let is_command = words[at].begins || is_at(at - 1, WordList("and then please also afterwards now"));
        let is_done_with_plan =
            lexicon::is_verb(&words[at].stem) && is_at(at + 1, WordList("it that them this"));
        let needs_more = || needs::need_of(words, at).is_some_and(|needed| !Means::LOOK.covers(needed));
        is_done_with_plan || (is_command && needs_more())
    });
    is_verb && !asks_for_more
}

/// Returns true for the word before a name that is called: `as qa`, `ask qa`.
fn is_call(words: &[Word], at: usize) -> bool {
    let word = &words[at];
    (word.shown == "as" || ASKING.has(&word.shown)) && (word.begins || at == 0 || is_lead(&words[at - 1]))
}

/// Returns true if a request names a candidate after one of its calls, or its work.
fn is_named(words: &[Word], calls: &[usize], candidate: &RoutedMode) -> bool {
    let of = |table: &'static [(&str, &[&str])]| {
        let row = table.iter().find(|(mode, _)| candidate.own_words.is_none() && *mode == candidate.mode);
        row.map_or(&[][..], |(_, names)| names)
    };
    let plain = AFTER_AS.iter().find(|mode| candidate.own_words.is_none() && **mode == candidate.mode);
    let own = [&candidate.agent, &candidate.mode];
    let own = own.into_iter().filter(|name| candidate.own_words.is_some() && *name != "main");
    let own: Vec<String> = own.map(|name| name.replace(['-', '_'], " ")).collect();
    let names = own.iter().map(String::as_str).chain(of(ALIASES).iter().copied());
    let is_called = calls.iter().any(|&at| {
        let rest = after_articles(words, at + 1);
        let role = names.clone().find_map(|name| after_name(words, rest, name));
        let plain_role = plain.and_then(|name| after_name(words, rest, name));
        match words[at].shown.as_str() {
            "as" => plain_role.or(role).is_some_and(|end| end < words.len()),
            _ => role.is_some_and(|end| is_told(words, at, end)),
        }
    });
    let work = of(WORK);
    let is_work =
        |at: usize| work.iter().any(|work| after_name(words, at, work).is_some()) && is_wanted(words, at);
    is_called || (0..words.len()).any(is_work)
}

/// Words in front of a command.
fn is_lead(word: &Word) -> bool {
    WordList("please pls and then now you also let's next").has(&word.shown)
}

fn after_articles(words: &[Word], mut at: usize) -> usize {
    while words.get(at).is_some_and(|word| ARTICLES.has(&word.shown)) {
        at += 1;
    }
    at
}

/// The place after a name that stands at a place.
fn after_name(words: &[Word], at: usize, name: &str) -> Option<usize> {
    let mut end = at;
    for part in name.split(' ') {
        let word = words.get(end)?;
        if word.shown != part || word.is_of_file {
            return None;
        }
        end += 1;
    }
    Some(end)
}

/// Returns true if an agent is told to do something: `ask qa to …`, `let qa look at …`, `use gemini for …`.
fn is_told(words: &[Word], verb: usize, mut end: usize) -> bool {
    if words.get(end).is_some_and(|word| WordList("agent mode engineer team specialist").has(&word.shown)) {
        end += 1;
    }
    let Some(next) = words.get(end) else { return false };
    match words[verb].shown.as_str() {
        "ask" | "tell" | "get" | "use" | "call" => {
            WordList("to for about whether if how what").has(&next.shown)
        }
        _ => next.shown == "have" || lexicon::is_verb(&next.stem),
    }
}

/// Returns true if work is wanted rather than talked about: a verb stands before it in its sentence, or it begins the
/// sentence.
fn is_wanted(words: &[Word], at: usize) -> bool {
    let begin = (0..=at).rev().find(|at| words[*at].begins).unwrap_or_default();
    let first = &words[begin];
    let is_question = WordList("what why when who where which how did does was is").has(&first.shown);
    let is_negated =
        words[begin..at].iter().any(|word| WordList("don't not no without after before").has(&word.shown));
    !is_question && !is_negated && at - begin <= 8
}
