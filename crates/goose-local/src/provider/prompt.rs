//! What the model is told before the conversation: how to answer, its tools with one literal call of each, and some small
//! examples of whole tasks. All of it is the same in every conversation with the same tools, so its computation is kept.

use goose_engine::{Speaker, Turn};

use super::{
    history::{LISTED, reminder},
    known::Use,
    offer::{FINAL_ANSWER, Offer, Offered, TEXT, literal},
};

const HOW: &str = "You are goose. You do tasks in a folder on the user's computer, one step at a time. Each of your messages \
                   is one JSON object: one of these tool calls, or the final answer.";

const RULES: &str = "As soon as a result has what the user wants, give the final answer. The user does not see the results: repeat in \
                     the answer what they say. If a result does not have it, go on: read another file, search for another \
                     word. Never guess. Change files only if the user asks for it; then do it, do not only explain it.";

/// Tasks, done: a question whose first step finds nothing, a new file, something counted, something put into a file, a
/// command that fails, a change with an addition. They show when to go on and when to stop, which small models learn from
/// nothing else.
const LESSONS: [&str; 28] = [
    "Files here: run.sh, docs/plan.md, docs/shop.md\nWhen does the shop open?",
    r#"{"tool":"search","pattern":"open"}"#,
    "Result:\nNo match. Try another word, or read the files.",
    r#"{"tool":"read","path":"docs/shop.md"}"#,
    "Result:\n# Shop\n\nDoors: 8:30 to 17:00",
    r#"{"tool":"final_answer","text":"The shop opens at 8:30 (docs/shop.md)."}"#,
    "Files here: run.sh, docs/plan.md, docs/shop.md\nWrite a poem of two lines to poem.txt.",
    r#"{"tool":"write","path":"poem.txt","content":"The goose flies on,\nthe night is gone.\n"}"#,
    "Result:\nCreated poem.txt (2 lines)",
    r#"{"tool":"final_answer","text":"I wrote a poem of two lines to poem.txt."}"#,
    "Files here: poem.txt, run.sh, docs/plan.md, docs/shop.md\nHow many lines does the plan have?",
    r#"{"tool":"shell","command":"wc -l < docs/plan.md"}"#,
    "Result:\n9",
    r#"{"tool":"final_answer","text":"docs/plan.md has 9 lines."}"#,
    "Files here: poem.txt, run.sh, docs/plan.md, docs/shop.md\nPut all headings of the docs into headings.txt.",
    r##"{"tool":"shell","command":"cat docs/*.md | grep '^#' > headings.txt && cat headings.txt"}"##,
    "Result:\n# Plan\n## Walls\n# Shop",
    r#"{"tool":"final_answer","text":"headings.txt has the 3 headings: Plan, Walls and Shop."}"#,
    "Files here: headings.txt, poem.txt, run.sh, docs/plan.md, docs/shop.md\nDoes run.sh work?",
    r#"{"tool":"shell","command":"sh run.sh"}"#,
    "Error: run.sh: 2: ech: not found\n[exit code 127]",
    r#"{"tool":"final_answer","text":"No, run.sh fails in line 2: ech is not found (exit code 127)."}"#,
    "Files here: headings.txt, poem.txt, run.sh, docs/plan.md, docs/shop.md\nFix it, and let it say bye at the end.",
    r#"{"tool":"read","path":"run.sh"}"#,
    "Result:\ncat docs/plan.md\nech \"done\"",
    r#"{"tool":"edit","path":"run.sh","before":"ech \"done\"","after":"echo \"done\"\necho \"bye\""}"#,
    "Result:\nEdited run.sh (+2 −1)",
    r#"{"tool":"final_answer","text":"I changed ech to echo in run.sh and added a line that says bye."}"#,
];

const OVER: &str = "Those were examples. This is another folder.";

/// The tools that the lessons use.
const USED_IN_LESSONS: [&str; 5] = ["search", "read", "edit", "write", "shell"];

/// The turns before the conversation.
pub(super) fn opening(offer: &Offer) -> Vec<Turn> {
    let mut turns = vec![Turn { speaker: Speaker::System, text: system(offer) }];
    let fits = offer.takes_text && USED_IN_LESSONS.iter().all(|name| offer.by_short(name).is_some());
    let mut task = "";
    for text in LESSONS.iter().filter(|_| fits) {
        if let Some((_, asked)) = text.split_once('\n').filter(|_| text.starts_with(LISTED)) {
            task = asked;
        }
        let (speaker, text) = match text.starts_with('{') {
            true => (Speaker::Model, (*text).to_owned()),
            false if text.starts_with(LISTED) => (Speaker::User, (*text).to_owned()),
            false => (Speaker::User, format!("{text}{}", reminder(task))),
        };
        turns.push(Turn { speaker, text });
    }
    turns
}

/// What is told with the first thing that the user says. The lessons are not part of what happened.
pub(super) fn before_the_task(opening: &[Turn], system: &str) -> String {
    match opening {
        [_] | [] => system.to_owned(),
        _ => format!("{OVER}\n{system}").trim_end().to_owned(),
    }
}

fn system(offer: &Offer) -> String {
    let groups = [
        (Use::Look, "To look"),
        (Use::Change, "To change"),
        (Use::Run, "To run"),
        (Use::Other, "For the rest"),
    ];
    let mut lines: Vec<String> =
        groups.iter().filter_map(|(group, title)| line(offer, *group, title)).collect();
    if offer.takes_text {
        lines.push(format!(
            r#"To end: {{"tool":"{FINAL_ANSWER}","{TEXT}":"todo.txt has 2 lines."}} tells the user what was found or done."#
        ));
    }
    format!("{HOW}\n\n{}\n\n{RULES}", lines.join("\n"))
}

/// The tools of one use. In one long list they would be taken for steps to be gone through one by one.
fn line(offer: &Offer, group: Use, title: &str) -> Option<String> {
    let tools: Vec<String> =
        offer.tools.iter().filter(|tool| tool.used_to == group).map(|tool| shown(offer, tool)).collect();
    (!tools.is_empty()).then(|| format!("{title}: {}.", tools.join(", ")))
}

fn shown(offer: &Offer, tool: &Offered) -> String {
    format!("{} {}", literal(offer, &tool.name, &tool.example), tool.words).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use goose_extension::{JsonObject, Tool};

    use super::*;

    #[test]
    fn the_opening_with_the_developers_tools() {
        let names =
            ["read", "search", "tree", "edit", "write", "shell"].map(|name| format!("developer__{name}"));
        let tools = names.map(|name| Tool::new(name, "", JsonObject::new()));
        let opening = opening(&Offer::of(&tools, &[]));
        let texts: Vec<&str> = opening.iter().map(|turn| turn.text.as_str()).collect();
        insta::assert_snapshot!(texts.join("\n----\n"));
    }

    #[test]
    fn other_tools_are_told_without_lessons() {
        let tools =
            [Tool::new("weather__forecast", "The weather of the next days. Slow.", JsonObject::new())];
        let opening = opening(&Offer::of(&tools, &["weather".to_owned()]));
        assert_eq!(opening.len(), 1);
        let line = r#"For the rest: {"tool":"forecast"} the weather of the next days."#;
        assert!(opening[0].text.contains(line), "{}", opening[0].text);
    }
}
