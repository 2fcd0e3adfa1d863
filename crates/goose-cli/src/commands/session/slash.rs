//! The slash commands of a session.

use crate::wrap::wrapped;

/// A command, as help shows it.
#[derive(Debug)]
pub(crate) struct Described {
    /// Name, with its slash.
    pub(crate) name: &'static str,
    /// Arguments, as help shows them.
    pub(crate) takes: &'static str,
    pub(crate) help: &'static str,
}

/// All commands.
pub(crate) const COMMANDS: &[Described] = &[
    command("/help", "", "this list"),
    command("/exit", "", "quit (also exit, /quit, Ctrl-D, Ctrl-C twice)"),
    command("/clear", "", "clear the model's context; the session keeps all messages"),
    command("/compact", "", "summarize the conversation so far"),
    command("/model", "[NAME]", "show the model and its context usage, or switch to another model"),
    command("/cost", "", "show the tokens and cost of the session"),
    command(
        "/agent",
        "[AGENT[/MODE]|auto]",
        "list the agents, switch to another one, or let goose choose again; '@NAME …' asks one for one message",
    ),
    command(
        "/tasks",
        "[N]",
        "show the tasks of the last request that was split, or all that one did; Ctrl-C cancels one or all",
    ),
    command("/mode", "[MODE]", "show or set the permission mode: auto, approve, smart_approve, chat"),
    command("/r", "", "show tool results in full, or fold them again"),
    command("/reasoning", "[N]", "show the model's reasoning of the last reply, or of the one N replies ago"),
    command(
        "/extension",
        "CMD | remove NAME",
        "add an MCP server program, like '--with-extension', or remove an extension from the session",
    ),
    command("/builtin", "NAMES", "add built-in extensions"),
    command("/prompts", "[EXTENSION]", "list the prompts of extensions"),
    command("/prompt", "NAME [KEY=VALUE …]", "send a prompt of an extension"),
    command("/app", "TEXT", "create a small HTML app; `goose apps` manages them"),
    command("/plan", "[TEXT]", "look around and write a plan, change nothing"),
    command("/endplan", "", "leave plan mode"),
    command("/t", "", "themes are not supported; goose uses the terminal's colours"),
    command("/recipe", "[FILE]", "write a recipe of this conversation, to recipe.yaml by default"),
    command("/skills", "", "list the skills"),
    command("/undo", "", "take back what goose wrote to files for the last message that changed some"),
    command("/rewind", "[N]", "go back to before a message: the conversation, the files, or both"),
    command("/diff", "[FILE]", "show what goose changed in files since the session began"),
];

const fn command(name: &'static str, takes: &'static str, help: &'static str) -> Described {
    Described { name, takes, help }
}

/// A command that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    Exit,
    Help,
    Clear,
    Compact,
    /// Sets the model, or shows it without a name.
    Model(Option<String>),
    Cost,
    Tasks(Option<String>),
    /// Switches the agent, or lists all without a name.
    Agent(Option<String>),
    /// Sets the mode, or shows it without a name.
    Mode(Option<String>),
    Full,
    /// Shows the reasoning of the last reply, or of the one so many replies before.
    Reasoning(usize),
    Extension(String),
    RemoveExtension(String),
    Builtins(Vec<String>),
    Prompts(Option<String>),
    Prompt {
        name: String,
        arguments: Vec<(String, String)>,
    },
    App(String),
    Plan(Option<String>),
    EndPlan,
    /// Writes a recipe of the conversation to a file.
    Recipe(Option<String>),
    Skills,
    Undo,
    /// Goes back to before a message, by its number if one is given.
    Rewind(Option<String>),
    /// Shows the changes of all files, or of one.
    Diff(Option<String>),
    /// Not supported, and why.
    Later(&'static str),
    /// Invalid, and why.
    Unclear(String),
}

impl Slash {
    /// Parses a line; `None` if it is a message. A path such as `/etc/hosts` is a message.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if matches!(line, "exit" | "quit") {
            return Some(Self::Exit);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = word.strip_prefix('/')?;
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let rest = rest.trim();
        let some = (!rest.is_empty()).then(|| rest.to_owned());
        Some(match name {
            "exit" | "quit" | "q" => Self::Exit,
            "help" | "?" => Self::Help,
            "clear" => Self::Clear,
            "compact" | "summarize" => Self::Compact,
            "model" => Self::Model(some),
            "cost" => Self::Cost,
            "tasks" => Self::Tasks(some),
            "agent" | "agents" => Self::Agent(some),
            "mode" => Self::Mode(some),
            "r" => Self::Full,
            "reasoning" => reasoning(rest),
            "extension" => extension(rest),
            "builtin" => some.map_or_else(|| usage("/builtin"), |names| Self::Builtins(listed(&names))),
            "prompts" => Self::Prompts(some.map(|name| name.trim_start_matches("--extension ").to_owned())),
            "prompt" => prompt(rest),
            "app" => some.map_or_else(|| usage("/app"), Self::App),
            "plan" => Self::Plan(some),
            "endplan" => Self::EndPlan,
            "t" => Self::Later("goose uses the colours of your terminal; change them there."),
            "recipe" => Self::Recipe(some),
            "skills" => Self::Skills,
            "undo" => Self::Undo,
            "rewind" => Self::Rewind(some),
            "diff" => Self::Diff(some),
            _ => Self::Unclear(format!("Unknown command {word}. Type /help for a list.")),
        })
    }
}

fn listed(names: &str) -> Vec<String> {
    names.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn reasoning(rest: &str) -> Slash {
    match rest.parse() {
        Ok(back) => Slash::Reasoning(back),
        Err(_) if rest.is_empty() => Slash::Reasoning(0),
        Err(_) => usage("/reasoning"),
    }
}

fn extension(rest: &str) -> Slash {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [] | ["remove"] => usage("/extension"),
        ["remove", name] => Slash::RemoveExtension((*name).to_owned()),
        _ => Slash::Extension(rest.to_owned()),
    }
}

fn prompt(rest: &str) -> Slash {
    let mut words = words(rest).into_iter();
    let Some(name) = words.next() else { return usage("/prompt") };
    let mut arguments = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((key, value)) => arguments.push((key.to_owned(), value.to_owned())),
            None => return usage("/prompt"),
        }
    }
    Slash::Prompt { name, arguments }
}

/// Splits a line into words. Quotes group words and are removed.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) =
        (Vec::new(), None, None);
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn usage(name: &str) -> Slash {
    let takes = COMMANDS.iter().find(|command| command.name == name).map_or("", |command| command.takes);
    Slash::Unclear(format!("Usage: {name} {takes}"))
}

/// Minimum width at which descriptions are beside the commands, and not below them.
const TWO_COLUMNS: usize = 70;

/// Returns the help text for a terminal of this width.
pub(crate) fn help(columns: usize) -> String {
    let head = |command: &Described| format!("{} {}", command.name, command.takes);
    let width = COMMANDS.iter().map(|command| head(command).len()).max().unwrap_or_default();
    let indent = if columns < TWO_COLUMNS { 4 } else { width + 4 };
    let described = |command: &Described| {
        let lines = wrapped(command.help, columns.saturating_sub(indent));
        let begin = if columns < TWO_COLUMNS {
            format!("  {}\n{:indent$}", head(command), "")
        } else {
            format!("  {:width$}  ", head(command))
        };
        begin + &lines.join(&format!("\n{:indent$}", ""))
    };
    let mut lines: Vec<String> = COMMANDS.iter().map(described).collect();
    lines.push("End a line with \\ to continue it, or press Ctrl-J for a new line.".to_owned());
    lines.push(
        "@FILE, @FOLDER/ and paths of images are attached, @EXTENSION:URI is a resource; Tab completes. @NAME at the \
         beginning of a message is an agent."
            .to_owned(),
    );
    lines.push("!COMMAND runs a command; it joins the conversation with the next message.".to_owned());
    lines.push(
        "During a reply, Esc cancels it. Messages that you type then wait; Up on an empty line takes one back.".to_owned(),
    );
    lines.push("Press Ctrl-C to cancel a reply, and again to quit.".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_or_messages() {
        assert_eq!(Slash::parse("hello"), None);
        assert_eq!(Slash::parse("/etc/passwd is a file"), None);
        assert_eq!(Slash::parse("/"), None);
        assert_eq!(Slash::parse("exit the loop early"), None);
        for line in [" /exit ", "exit", "quit "] {
            assert_eq!(Slash::parse(line), Some(Slash::Exit), "{line}");
        }
        assert_eq!(Slash::parse("/extension node b.js"), Some(Slash::Extension("node b.js".to_owned())));
        assert_eq!(Slash::parse("/extension remove a"), Some(Slash::RemoveExtension("a".to_owned())));
        assert!(matches!(Slash::parse("/extension remove"), Some(Slash::Unclear(_))));
        assert_eq!(Slash::parse("/mode approve"), Some(Slash::Mode(Some("approve".to_owned()))));
        assert_eq!(
            Slash::parse("/builtin memory, tutorial"),
            Some(Slash::Builtins(vec!["memory".to_owned(), "tutorial".to_owned()]))
        );
        let arguments = vec![("a".to_owned(), "1".to_owned())];
        assert_eq!(Slash::parse("/prompt p a=1"), Some(Slash::Prompt { name: "p".to_owned(), arguments }));
        let arguments = vec![("a".to_owned(), "1 2".to_owned()), ("b".to_owned(), String::new())];
        assert_eq!(
            Slash::parse("/prompt p a=\"1 2\"  b=''"),
            Some(Slash::Prompt { name: "p".to_owned(), arguments })
        );
        assert!(matches!(Slash::parse("/prompt p a"), Some(Slash::Unclear(_))));
        assert!(matches!(Slash::parse("/frobnicate"), Some(Slash::Unclear(_))));
    }

    #[test]
    fn every_command_in_the_help_is_understood() {
        for command in COMMANDS {
            let parsed = Slash::parse(&format!("{} 1", command.name));
            assert!(!matches!(parsed, None | Some(Slash::Unclear(_))), "{}: {parsed:?}", command.name);
        }
    }
}
