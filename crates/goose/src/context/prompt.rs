//! The system prompt. Kept small, because every request contains it.

use std::path::Path;

use goose_extension::{Tool, ToolAction, visible, visible_line};

use super::hints::Hints;

/// Parts of the system prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// Working folder.
    pub working_dir: &'a Path,
    /// Current day, as `2026-11-15`. Without the time of day, so that services can cache the prompt.
    pub today: &'a str,
    /// Hint files of the user.
    pub hints: &'a Hints,
    /// Instructions for this run.
    pub instructions: Option<&'a str>,
    /// Instructions of extensions, by name.
    pub extensions: &'a [(String, String)],
    /// Tools that the model is offered.
    pub tools: &'a [Tool],
    /// True if the shell has `rg`.
    pub has_ripgrep: bool,
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

/// Returns the system prompt.
pub fn system(parts: &PromptParts<'_>) -> String {
    let mut prompt = vec![WHO.to_owned(), surroundings(parts)];
    prompt.push(if parts.tools.is_empty() { WITHOUT_TOOLS.to_owned() } else { how(parts) });
    for (name, text) in parts.extensions {
        prompt.push(section(&format!("Extension {name}"), &visible(text)));
    }
    for hint in parts.hints.iter() {
        prompt.push(section(&format!("From {}", hint.shown_path), &hint.text));
    }
    if let Some(instructions) = parts.instructions {
        prompt.push(section("Instructions", instructions));
    }
    prompt.join("\n\n")
}

/// Returns the working instructions for the tools that the model has.
fn how(parts: &PromptParts<'_>) -> String {
    let tool = |is_wanted: fn(&ToolAction) -> bool| {
        parts.tools.iter().find(|tool| tool.action().is_some_and(is_wanted)).map(Tool::name)
    };
    let plan = tool(|action| *action == ToolAction::KeepsPlan);
    let shell = tool(|action| matches!(action, ToolAction::Command(_))).filter(|_| parts.has_ripgrep);
    let plan = plan
        .map(|name| format!("\n- For long work, write a plan with `{name}` first, and keep it up to date."));
    let search =
        shell.map(|name| format!("\n- In `{name}`, search with `rg`: it is fast and skips ignored files."));
    [HOW.to_owned(), plan.unwrap_or_default(), search.unwrap_or_default()].concat()
}

/// Maximum length of a hint file or instructions in a small model's prompt, in characters.
const MAX_BRIEF_CHARS: usize = 1_200;

/// Returns the prompt for a small model: only hints and instructions. Its provider explains the tools. The
/// working folder is left out because the model would copy it into the paths that it writes, and the day
/// because a new one would invalidate the model's cache of a conversation.
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
    let folder = parts.working_dir.display().to_string();
    let folder = visible_line(&folder);
    format!("Working folder: {folder}\nSystem: {}\nToday: {}", std::env::consts::OS, parts.today)
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
        let action = |name: &str| match name {
            "developer__plan" => Some(ToolAction::KeepsPlan),
            "developer__shell" => Some(ToolAction::command("command")),
            _ => None,
        };
        let tool = |name: &&'static str| {
            action(name).into_iter().fold(Tool::new(*name, "", JsonObject::new()), Tool::with_action)
        };
        let tools: Vec<Tool> = tools.iter().map(tool).collect();
        make(&PromptParts {
            working_dir: Path::new("/home/ada/engine"),
            today: "2026-11-15",
            hints: &Hints::default(),
            instructions,
            extensions: &[("memory".into(), "Remember what matters.\n".into())],
            tools: &tools,
            has_ripgrep: true,
        })
    }

    #[test]
    fn the_whole_prompt() {
        insta::assert_snapshot!(prompt(&["developer__plan", "developer__shell"], Some("Speak French.")));
    }

    #[test]
    fn a_conversation_without_tools_says_so() {
        assert!(!prompt(&["memory__remember"], None).contains("no tools"));
        assert!(prompt(&[], None).contains("no tools"));
    }

    #[test]
    fn a_small_model_is_told_little() {
        assert_eq!(made(brief, &["developer__shell"], Some("Speak French.")), "Instructions:\nSpeak French.");
        let long = made(brief, &[], Some(&"é".repeat(9_000)));
        assert!(long.chars().count() < MAX_BRIEF_CHARS + 100 && long.ends_with("é…"));
    }
}
