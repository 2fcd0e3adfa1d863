//! [`CallToJudge`]: a requested call, with everything that the decision depends on.

use std::{borrow::Cow, path::Path};

use goose_extension::{ByOperation, FetchedHost, JsonObject, Tool, ToolAction, ToolGroup, script_command};
use serde_json::Value;
use url::Url;

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
    Shell(Option<Cow<'a, str>>),
    /// Fetches from a host; `None` if it is not known.
    Fetch(Option<FetchedHost>),
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
            Some(ToolAction::Command(argument)) => Some(self.text(argument).map(Cow::Borrowed)),
            Some(ToolAction::Script { language, script }) => {
                let command = || script_command(self.text(language)?, self.text(script)?);
                Some(command().map(Cow::Owned))
            }
            Some(ToolAction::Fetches(_)) => return Action::Fetch(self.host()),
            // A tool without a declaration must not bypass the rules about commands.
            None if self.has_group(ToolGroup::Command) => {
                self.text("command").map(|command| Some(Cow::Borrowed(command)))
            }
            _ => None,
        };
        match (script, self.access()) {
            (Some(script), _) => Action::Shell(script),
            (_, Some(access)) => Action::Files(access),
            _ => Action::Other,
        }
    }

    /// Returns the host that the call fetches from.
    pub(super) fn host(&self) -> Option<FetchedHost> {
        let Some(ToolAction::Fetches(url)) = self.declared() else { return None };
        FetchedHost::of(&Url::parse(self.text(url)?).ok()?)
    }

    /// Returns true if a rule about `shell` is about this call although the tool has another name.
    pub(super) fn runs_script(&self) -> bool {
        matches!(self.declared(), Some(ToolAction::Script { .. }))
    }

    /// Returns true if the call fetches.
    pub(super) fn fetches(&self) -> bool {
        matches!(self.declared(), Some(ToolAction::Fetches(_)))
    }

    fn operation(&self) -> Option<&'a ByOperation> {
        match self.declared() {
            Some(ToolAction::ByOperation(operation)) => Some(operation),
            _ => None,
        }
    }

    fn operation_access(&self, operation: &ByOperation) -> Access {
        if operation.only_reads(self.arguments) { Access::Read } else { Access::Write }
    }

    /// Returns the access to the file in one of the arguments with paths.
    pub(super) fn access_of(&self, path: &str, access: Access) -> Access {
        let is_in = |names: &[&str]| names.iter().any(|name| self.text(name) == Some(path));
        match self.operation() {
            Some(operation) if is_in(operation.sources) && !is_in(operation.paths) => Access::Read,
            _ => access,
        }
    }

    /// Returns true if judging the call may take long enough to block other tasks: a command may be long, and
    /// names folders and repositories that are searched.
    pub fn takes_long(&self) -> bool {
        match self.action() {
            Action::Shell(Some(command)) => !is_simple(&command),
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
            Some(ToolAction::ByOperation(operation)) if !operation.paths.is_empty() => {
                Some(self.operation_access(operation))
            }
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
        let is_path = |name: &str| match self.declared() {
            Some(ToolAction::Reads(arguments) | ToolAction::Writes(arguments)) => {
                arguments.iter().any(|argument| argument == name)
            }
            Some(ToolAction::ByOperation(operation)) => {
                operation.paths.contains(&name) || operation.sources.contains(&name)
            }
            _ => PATH_ARGUMENTS.contains(&name),
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
        if let Some(operation) = self.operation() {
            return self.operation_access(operation) == Access::Read;
        }
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
