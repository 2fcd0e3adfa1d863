//! The system prompt. Small on purpose: every request carries it.

use std::path::Path;

use goose_extension::Tool;

use super::hints::Hints;

/// What the system prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// Where the work happens.
    pub working_dir: &'a Path,
    /// Today, as `2026-11-15`. No time of day: the prompt should stay the same for the services' caches.
    pub today: &'a str,
    /// What people wrote for goose to know.
    pub hints: &'a Hints,
    /// What this run is about, where whoever started it says so.
    pub instructions: Option<&'a str>,
    /// What extensions say about how to use them, by name.
    pub extensions: &'a [(String, String)],
    /// The tools that the model is offered.
    pub tools: &'a [Tool],
}

const WHO: &str = "You are goose, an AI agent that works on the user's own machine. Do the task; do not just explain how \
                   it could be done.";

const WITHOUT_TOOLS: &str =
    "You have no tools in this conversation: answer from what you are told and what you know.";

const HOW: &str = "\
- Look before you change: read what is there, and follow its conventions.
- Check each result. After a change, run what proves it: tests, a build, the program itself.
- When a tool fails, read its error and try another way; do not repeat the same call.
- Ask for several independent tool calls at once.
- When you are done, say in short what you did and what is left. Never claim what you have not seen.";

const PLAN: &str =
    "- For work of more than a few steps, write a plan with the plan tool and keep it up to date.";

const SEARCH: &str = "- To find things in files, `rg` in the shell is fast; so is `rg --files`.";

/// The whole prompt.
pub fn system(parts: &PromptParts<'_>) -> String {
    let mut prompt = vec![WHO.to_owned(), surroundings(parts)];
    prompt.push(if parts.tools.is_empty() { WITHOUT_TOOLS.to_owned() } else { habits(parts.tools) });
    for (name, text) in parts.extensions {
        prompt.push(section(&format!("Extension {name}"), text));
    }
    for hint in parts.hints.iter() {
        prompt.push(section(&format!("From {}", hint.shown_path), &hint.text));
    }
    if let Some(instructions) = parts.instructions {
        prompt.push(section("Instructions", instructions));
    }
    prompt.join("\n\n")
}

/// How much of what people wrote a small model is told, in characters.
const MAX_BRIEF_CHARS: usize = 1_200;

/// The prompt for a small model: what people want it to know, and nothing else. How it works with its tools is told by
/// whoever knows the model; the folder's own path would only find its way into the paths that it writes, and the day would make
/// it read a conversation of yesterday anew.
pub fn brief(parts: &PromptParts<'_>) -> String {
    let mut prompt: Vec<String> = parts
        .hints
        .iter()
        .map(|hint| brief_section(&format!("From {}:", hint.shown_path), &hint.text))
        .collect();
    prompt.extend(parts.instructions.map(|instructions| brief_section("Instructions:", instructions)));
    prompt.join("\n\n")
}

fn brief_section(title: &str, text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_BRIEF_CHARS) {
        Some((cut, _)) => format!("{title}\n{}…", &text[..cut]),
        None => format!("{title}\n{text}"),
    }
}

fn surroundings(parts: &PromptParts<'_>) -> String {
    let folder = parts.working_dir.display();
    format!("Working folder: {folder}\nSystem: {}\nToday: {}", std::env::consts::OS, parts.today)
}

/// How to work, as far as the tools allow it.
fn habits(tools: &[Tool]) -> String {
    let has = |name: &str| tools.iter().any(|tool| tool.name().ends_with(name));
    let mut habits = vec![HOW];
    if has("__plan") {
        habits.insert(0, PLAN);
    }
    if has("__shell") {
        habits.push(SEARCH);
    }
    habits.join("\n")
}

fn section(title: &str, text: &str) -> String {
    format!("# {title}\n\n{}", text.trim())
}

#[cfg(test)]
mod tests {
    use goose_extension::JsonObject;

    use super::*;

    fn prompt(tools: &[&'static str], instructions: Option<&str>) -> String {
        made(system, tools, instructions)
    }

    fn made(
        make: fn(&PromptParts<'_>) -> String,
        tools: &[&'static str],
        instructions: Option<&str>,
    ) -> String {
        let tools: Vec<Tool> = tools.iter().map(|name| Tool::new(*name, "", JsonObject::new())).collect();
        make(&PromptParts {
            working_dir: Path::new("/home/ada/engine"),
            today: "2026-11-15",
            hints: &Hints::default(),
            instructions,
            extensions: &[("memory".into(), "Remember what matters.\n".into())],
            tools: &tools,
        })
    }

    #[test]
    fn the_whole_prompt() {
        insta::assert_snapshot!(prompt(&["developer__plan", "developer__shell"], Some("Speak French.")));
    }

    #[test]
    fn habits_follow_the_tools() {
        assert!(!prompt(&["memory__remember"], None).contains("rg"));
        assert!(prompt(&[], None).contains("no tools"));
    }

    #[test]
    fn a_small_model_is_told_little() {
        assert_eq!(made(brief, &["developer__shell"], Some("Speak French.")), "Instructions:\nSpeak French.");
        let long = made(brief, &[], Some(&"é".repeat(9_000)));
        assert!(long.chars().count() < MAX_BRIEF_CHARS + 100 && long.ends_with("é…"));
    }
}
