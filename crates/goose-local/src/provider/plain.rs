//! [`Plain`]: a question and what was found, and nothing else. The model that has found something answers in plain words, from
//! this alone: among its tools and examples it takes the first thing that looks like an answer, here it looks at all of them.

use std::sync::Arc;

use goose_engine::{Speaker, Turn};
use goose_extension::{Message, MessageContent, Role};
use serde_json::Value;

use super::{
    found,
    history::NO_MATCH,
    known::{EDIT, READ, SEARCH, SHELL, WRITE},
    page::Page,
    shorten::shortened,
    steps::{Step, is_asked, last_asked},
    table,
};

/// How much of one result is shown, in characters.
const MAX_RESULT_CHARS: usize = 4_000;

/// How much is shown of what was asked and answered before, each, in characters.
const MAX_BEFORE_CHARS: usize = 300;

/// How much is shown in all, in characters; what came last counts most.
const MAX_CHARS: usize = 10_000;

/// How long the answer may get, in tokens.
pub(super) const MAX_TOKENS: usize = 600;

const WHO: &str = "You are a careful assistant.";

const HOW: &str = "Think step by step: look at each line above that matters, then give the answer in one sentence, with the \
                   names and numbers from above.";

/// Words of tasks that want something to be said, wherever they are.
const ASKING: [&str; 12] =
    ["what", "which", "who", "whose", "where", "when", "why", "how", "tell", "report", "say", "list"];

/// What was asked, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plain {
    question: String,
    results: String,
}

impl Plain {
    /// What can be answered now; none where something was to be done instead, or nothing was found yet.
    pub(super) fn of(messages: &[Arc<Message>]) -> Option<Self> {
        let question = last_asked(messages);
        let steps = Step::since_asked(messages);
        let has_changed = steps.iter().any(|step| matches!(step.tool, EDIT | WRITE) && step.is_done());
        if has_changed || !is_asking(&question) {
            return None;
        }
        let results = results(&steps, &question);
        let results = if results.is_empty() { results } else { before(messages) + &results };
        (!results.is_empty()).then_some(Self { question, results })
    }

    /// What it rests on.
    pub(super) fn results(&self) -> &str {
        &self.results
    }

    /// As turns of a conversation of its own.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let Self { question, results } = self;
        let asked = format!("{results}\n\nQuestion: {}\n{HOW}", question.trim());
        vec![
            Turn { speaker: Speaker::System, text: WHO.to_owned() },
            Turn { speaker: Speaker::User, text: asked },
        ]
    }
}

/// What was asked and answered before, which a short question may go back to.
fn before(messages: &[Arc<Message>]) -> String {
    let now = messages.iter().rposition(|message| is_asked(message)).unwrap_or_default();
    let asked = last_asked(&messages[..now]);
    let answers = messages[..now].iter().rev().filter(|message| message.role == Role::Assistant);
    let answer =
        answers.flat_map(|message| &message.content).find_map(MessageContent::as_text).unwrap_or_default();
    if asked.is_empty() || answer.is_empty() {
        return String::new();
    }
    let (asked, answer) = (shortened(&asked, MAX_BEFORE_CHARS), shortened(answer, MAX_BEFORE_CHARS));
    format!("Asked before: {asked}\nAnswer: {answer}\n\n")
}

fn is_asking(task: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
    let mut words = task.split_whitespace().map(bare);
    task.trim_end().ends_with('?') || words.any(|word| ASKING.contains(&word.as_str()))
}

/// What came back, each once, the last of it where it is much.
fn results(steps: &[Step<'_>], question: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut chars = 0;
    for step in steps.iter().rev() {
        let result = result(step, question);
        chars += result.chars().count();
        if chars > MAX_CHARS && !shown.is_empty() {
            break;
        }
        if !shown.contains(&result) {
            shown.push(result);
        }
    }
    shown.reverse();
    shown.join("\n\n")
}

/// One result, and where it is from.
fn result(step: &Step<'_>, question: &str) -> String {
    let argument = |name: &str| step.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = step.text();
    let (title, text) = match (step.tool, step.is_done()) {
        (READ, true) => {
            let page = Page::of(&text);
            let facts = if page.goes_on.is_none() && step.arguments.get("offset").is_none() {
                table::facts(&page.text, question)
            } else {
                None
            };
            let text = facts.map_or(page.text.clone(), |facts| format!("{}\n\n{facts}", page.text));
            (format!("File {}:", argument("path")), text)
        }
        (SEARCH, true) if text.starts_with(NO_MATCH) => {
            (format!("Search for \"{}\":", argument("pattern")), format!("{NO_MATCH}."))
        }
        (SEARCH, true) => {
            (format!("Search for \"{}\":", argument("pattern")), found::by_line(&text).unwrap_or(text))
        }
        (SHELL, _) => (format!("The command `{}` printed:", argument("command")), text),
        (tool, _) => (format!("{} {}:", tool.rsplit("__").next().unwrap_or(tool), argument("path")), text),
    };
    let text = text.trim();
    format!("{title}\n{}", shortened(if text.is_empty() { "(nothing)" } else { text }, MAX_RESULT_CHARS))
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::{super::examples::conversation, *};

    fn plain(task: &str, calls: &[(&str, Value, &str)]) -> Option<Plain> {
        let done =
            calls.iter().map(|(tool, passed, result)| (*tool, passed.clone(), ToolOutput::text(*result)));
        Plain::of(&conversation(task, &done.collect::<Vec<_>>()))
    }

    #[test]
    fn a_question_is_put_after_what_was_found() {
        let calls = [
            (SEARCH, json!({ "pattern": "port" }), "a.ini\n1-[web]\n2:port = 80"),
            (READ, json!({ "path": "b.csv" }), "1\tname,price\n2\tsaw,9\n3\tnail,1"),
            (READ, json!({ "path": "b.csv" }), "1\tname,price\n2\tsaw,9\n3\tnail,1"),
            (SHELL, json!({ "command": "sh run.sh" }), ""),
        ];
        let turns = plain("Which costs most?", &calls).map(|plain| plain.turns()).unwrap_or_default();
        insta::assert_snapshot!(
            turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>().join("\n----\n")
        );
    }

    #[test]
    fn a_question_may_go_back_to_the_one_before() {
        let result = || ToolOutput::text("1\tada\n2\tbob");
        let mut messages = conversation("Who is first?", &[(READ, json!({ "path": "a" }), result())]);
        messages.push(Arc::new(Message::new(Role::Assistant, [MessageContent::text("Ada is first.")])));
        messages.extend(conversation("And second?", &[(READ, json!({ "path": "a" }), result())]));
        let results = Plain::of(&messages).map(|plain| plain.results).unwrap_or_default();
        assert!(
            results.starts_with("Asked before: Who is first?\nAnswer: Ada is first.\n\nFile a:\n"),
            "{results}"
        );
    }

    #[test]
    fn what_is_to_be_done_is_no_question() {
        let read = || (READ, json!({ "path": "a" }), "1\tone");
        let edit = (EDIT, json!({ "path": "a", "before": "one", "after": "two" }), "Edited a");
        assert!(plain("Run it and tell me the result.", &[read()]).is_some());
        assert_eq!(plain("Change one to two.", &[read()]), None);
        assert_eq!(plain("Change one to two and tell me how.", &[read(), edit]), None);
        assert_eq!(plain("What is here?", &[]), None);
    }

    #[test]
    fn much_is_cut_and_the_last_stays() {
        let long = "x".repeat(MAX_CHARS);
        let calls: Vec<_> = (0..5)
            .map(|number| (SHELL, json!({ "command": format!("echo {number}") }), long.as_str()))
            .collect();
        let results = plain("What is it?", &calls).map(|plain| plain.results).unwrap_or_default();
        assert!(results.chars().count() < MAX_CHARS + 200, "{}", results.len());
        assert!(results.contains("echo 4") && !results.contains("echo 0"));
    }
}
