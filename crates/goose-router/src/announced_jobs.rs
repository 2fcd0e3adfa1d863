//! Lists of jobs in languages that the router does not read: only their form and a few words are known.

use std::ops::Range;

use crate::{
    jobs::{JOBS, List, MAX_BYTES, marked_lines, marks_in_line, trimmed},
    words::WordList,
};

/// Words for tasks and things in other languages, as a list of jobs is announced by them.
const ANNOUNCED_ELSEWHERE: WordList = WordList(
    "sachen aufgaben erledigen dinge todos tareas cosas pendientes choses tâches trucs coisas tarefas pendências cose compiti \
     attività taken klusjes rzeczy zadania sprawy saker uppgifter opgaver oppgaver asiaa tehtäv věci úkoly \
     задачи вещи дел справи 任务 件事 事情 タスク お願い 作業 つのこと 작업 가지 görev şey işler việc",
);

/// Words in other languages that make an item a step after another one, or point to one, between spaces written as `_`.
const STEPS_ELSEWHERE: WordList = WordList(
    "_dann_ _danach_ _anschließend_ _damit_ _dafür_ _luego_ _después_ _ello_ _eso_ _ensuite_ _puis_ _cela_ _ça_ _depois_ _isso_ _então_ _poi_ \
     _dopo_ _questo_ _daarna_ _dat_ _potem_ _następnie_ _sedan_ _därefter_ _потом_ _затем_ _это_ その それ 然后 之后 그_ 그리고_ sonra_",
);

/// The longest line before a list in another language, in bytes, and the fewest characters of an item.
const MAX_ANNOUNCEMENT: usize = 120;
const MIN_ITEM_CHARS: usize = 8;

/// The jobs of a request in a language that the router does not read: items with numbers, or with any marks behind a
/// line that calls them tasks or things.
pub(crate) fn announced_jobs(text: &str) -> Vec<Range<usize>> {
    let found = [marked_lines, marks_in_line, semicolons].iter().filter_map(|list| list(text));
    // Bullets alone may be the points of a ticket.
    let is_numbered = text.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(');
    let is_list = |list: &List| {
        let before = text.get(list.before.clone()).unwrap_or_default().trim().to_lowercase();
        let items = || list.items.iter().filter_map(|item| text.get(item.clone()));
        let is_one_of =
            |list: WordList, text: &str| list.0.split_whitespace().any(|word| text.contains(word));
        let is_step =
            |item: &str| is_one_of(STEPS_ELSEWHERE, &format!(" {} ", item.to_lowercase()).replace(' ', "_"));
        JOBS.contains(&list.items.len())
            && list.after.is_empty()
            && before.len() <= MAX_ANNOUNCEMENT
            && !before.contains(['\n', '`', '#'])
            && ((before.is_empty() && is_numbered) || is_one_of(ANNOUNCED_ELSEWHERE, &before))
            && items().all(|item| item.chars().count() >= MIN_ITEM_CHARS && !is_step(item))
    };
    let is_whole = text.len() <= MAX_BYTES && !text.contains("```");
    found.filter(|_| is_whole).find(is_list).map(|list| list.items).unwrap_or_default()
}

/// Parts behind a colon, with a semicolon between them: `two things: …; …`.
fn semicolons(text: &str) -> Option<List> {
    let colon = text.find(": ").filter(|at| !text[..*at].contains('\n'))?;
    let mut from = colon + 1;
    let ends = text[from..].match_indices(';').map(|(at, _)| colon + 1 + at).chain([text.len()]);
    let items = ends.map(|end| trimmed(text, std::mem::replace(&mut from, end + 1)..end)).collect();
    Some(List { items, before: 0..colon, after: text.len()..text.len() })
}
