//! [`CallToJudge`]: a requested call, with everything that the decision depends on.

use std::path::Path;

use goose_extension::{JsonObject, Tool, ToolAction, ToolGroup};
use serde_json::Value;

use super::shell::Access;

/// Origin of a tool, which decides whether its declarations are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Built into goose: its groups and hints are trusted.
    Own,
    /// From an external server: its declarations are not trusted.
    Foreign,
}

/// A requested call.
#[derive(Debug, Clone, Copy)]
pub struct CallToJudge<'a> {
    /// Tool under the name that the model sees.
    pub tool: &'a Tool,
    /// Name of the tool in its extension.
    pub bare_name: &'a str,
    /// Origin of the tool.
    pub origin: Origin,
    /// Arguments of the call.
    pub arguments: &'a JsonObject,
    /// Folder that the call would run in.
    pub working_dir: &'a Path,
    /// Reason to ask the user, unless the mode or a rule allows the call.
    pub concern: Option<&'a str>,
}

/// Arguments that name files or folders in tools that do not declare their actions.
const PATH_ARGUMENTS: [&str; 8] =
    ["path", "paths", "file", "file_path", "folder", "directory", "destination", "output_path"];

/// Maximum number of paths in one call.
const MAX_PATHS: usize = 64;

/// Longest command that is certainly judged fast.
const MAX_SIMPLE_BYTES: usize = 256;

/// Programs that search folders, or open repositories.
const SEARCHING: [&str; 9] = ["git", "grep", "egrep", "fgrep", "rg", "diff", "find", "fd", "fdfind"];

/// Returns true for a short command of plain words that searches nothing.
fn is_simple(command: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" _./-=:,@+%'\"\n;&".contains(&byte);
    command.len() <= MAX_SIMPLE_BYTES
        && command.bytes().all(is_plain)
        && !command.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| SEARCHING.contains(&word))
}

/// Effect of a call, as far as it is known.
pub(super) enum Action<'a> {
    /// Runs a command line; `None` if it is not known.
    Shell(Option<&'a str>),
    /// Uses files.
    Files(Access),
    /// Anything else.
    Other,
}

impl<'a> CallToJudge<'a> {
    /// Returns the name that the model sees.
    pub fn name(&self) -> &'a str {
        self.tool.name()
    }

    /// Returns the tool's declared action. Declarations of external servers are ignored.
    fn declared(&self) -> Option<&'a ToolAction> {
        self.tool.action().filter(|_| self.origin == Origin::Own)
    }

    fn has_group(&self, group: ToolGroup) -> bool {
        self.origin == Origin::Own && self.tool.groups().contains(&group)
    }

    fn text(&self, argument: &str) -> Option<&'a str> {
        self.arguments.get(argument)?.as_str()
    }

    pub(super) fn action(&self) -> Action<'a> {
        let script = match self.declared() {
            Some(ToolAction::Command(argument)) => Some(self.text(argument)),
            // A tool without a declaration must not bypass the rules about commands.
            None if self.has_group(ToolGroup::Command) => self.text("command").map(Some),
            _ => None,
        };
        match (script, self.access()) {
            (Some(script), _) => Action::Shell(script),
            (_, Some(access)) => Action::Files(access),
            _ => Action::Other,
        }
    }

    /// Returns true if judging the call may take long enough to block other tasks: a command may be long, and
    /// names folders and repositories that are searched.
    pub fn takes_long(&self) -> bool {
        match self.action() {
            Action::Shell(Some(command)) => !is_simple(command),
            Action::Files(Access::Read) => {
                let is_folder = |path: &&str| self.working_dir.join(path).is_dir();
                self.paths().is_none_or(|paths| paths.is_empty() || paths.iter().any(is_folder))
            }
            _ => false,
        }
    }

    /// Returns the kind of access if this is one of goose's own file tools.
    pub(super) fn access(&self) -> Option<Access> {
        match self.declared() {
            Some(ToolAction::Reads(_)) => Some(Access::Read),
            Some(ToolAction::Writes(_)) => Some(Access::Write),
            None if self.takes_path() && self.has_group(ToolGroup::Edit) => Some(Access::Write),
            None if self.takes_path() && self.has_group(ToolGroup::Read) => Some(Access::Read),
            _ => None,
        }
    }

    /// Returns true if the tool has an argument that names files, and does not run commands.
    fn takes_path(&self) -> bool {
        let properties = self.tool.input_schema().get("properties").and_then(Value::as_object);
        !self.has_group(ToolGroup::Command)
            && properties.is_some_and(|all| PATH_ARGUMENTS.iter().any(|name| all.contains_key(*name)))
    }

    /// Returns the paths in the arguments; `None` if there are too many, if one is not a string, or if a
    /// required one is missing.
    pub(super) fn paths(&self) -> Option<Vec<&'a str>> {
        let mut paths = Vec::new();
        let declared = match self.declared() {
            Some(ToolAction::Reads(arguments) | ToolAction::Writes(arguments)) => Some(arguments),
            _ => None,
        };
        let is_path = |name: &str| match declared {
            Some(arguments) => arguments.iter().any(|argument| argument == name),
            None => PATH_ARGUMENTS.contains(&name),
        };
        let required = self.tool.input_schema().get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if required.any(|name| is_path(name) && !self.arguments.contains_key(name)) {
            return None;
        }
        for (_, value) in self.arguments.iter().filter(|(name, _)| is_path(name)) {
            match value {
                Value::String(path) => paths.push(path.as_str()),
                Value::Array(several) => {
                    for value in several {
                        paths.push(value.as_str()?);
                    }
                }
                Value::Null => {}
                _ => return None,
            }
        }
        (paths.len() <= MAX_PATHS).then_some(paths)
    }

    /// Returns true if the tool is known to change nothing. Declarations of external servers are ignored.
    pub(super) fn is_read_only(&self) -> bool {
        let groups = self.tool.groups();
        let hint = self.tool.annotations().and_then(|annotations| annotations.read_only_hint);
        self.origin == Origin::Own
            && match groups.is_empty() {
                true => hint == Some(true),
                false => groups.iter().all(|group| *group == ToolGroup::Read) && hint != Some(false),
            }
    }

    /// Returns true if the tool only calls other tools, or lets another agent call them.
    pub(super) fn only_calls_tools(&self) -> bool {
        matches!(self.declared(), Some(ToolAction::CallsTools | ToolAction::Delegates))
    }

    /// Returns true if the tool gives tasks to other agents.
    pub(super) fn delegates(&self) -> bool {
        matches!(self.declared(), Some(ToolAction::Delegates))
    }

    /// Returns true if the tool runs commands or declares that it is destructive.
    pub(super) fn may_destroy(&self) -> bool {
        let annotations = self.tool.annotations();
        let hint = annotations.and_then(|annotations| annotations.destructive_hint);
        self.has_group(ToolGroup::Command) || hint == Some(true)
    }
}
