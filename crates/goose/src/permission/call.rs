//! [`CallToJudge`]: a call that wants to be made, with everything that bears on whether it may.

use std::{borrow::Cow, path::Path};

use goose_extension::{JsonObject, Tool, ToolAction, ToolGroup};
use serde_json::Value;

use super::shell::Access;

/// Whose word a tool's description of itself is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A part of goose: its groups and hints hold.
    Own,
    /// Somebody else's: what it says about itself is a claim.
    Foreign,
}

/// A call that wants to be made. [`ToolHandle::call`](crate::agents::ToolHandle::call) makes one.
#[derive(Debug, Clone, Copy)]
pub struct CallToJudge<'a> {
    /// The tool, under the name that the model sees.
    pub tool: &'a Tool,
    /// What its extension calls it.
    pub bare_name: &'a str,
    /// Whose it is.
    pub origin: Origin,
    /// Exactly what it would be given.
    pub arguments: &'a JsonObject,
    /// Where it would run.
    pub working_dir: &'a Path,
}

/// The arguments that name files or folders in tools that declare nothing.
const PATH_ARGUMENTS: [&str; 8] =
    ["path", "paths", "file", "file_path", "folder", "directory", "destination", "output_path"];

/// How many paths of one call are looked at.
const MAX_PATHS: usize = 64;

/// A command that is longer than this may take long to parse.
const LONG_COMMAND_BYTES: usize = 1024;

/// What a call does, as far as goose knows its own tools.
pub(super) enum Action<'a> {
    /// Runs a command line.
    Shell(&'a str),
    /// Uses files.
    Files(Access),
    /// Anything else.
    Other,
}

impl<'a> CallToJudge<'a> {
    /// The name that the model sees.
    pub fn name(&self) -> &'a str {
        self.tool.name()
    }

    /// What the tool declares about its calls. What a server says of its own tools does not count.
    fn declared(&self) -> Option<&'a ToolAction> {
        self.tool.action().filter(|_| self.origin == Origin::Own)
    }

    /// The groups of this call: the operation's, where an argument decides, else the tool's.
    fn groups(&self) -> Cow<'a, [ToolGroup]> {
        match self.declared() {
            Some(ToolAction::ByOperation { argument, groups }) => {
                let operation = self.text(argument);
                let group = groups.iter().find(|(name, _)| operation == Some(&**name));
                Cow::Owned(group.map(|(_, group)| *group).into_iter().collect())
            }
            _ => Cow::Borrowed(self.tool.groups()),
        }
    }

    fn has_group(&self, group: ToolGroup) -> bool {
        self.origin == Origin::Own && self.groups().contains(&group)
    }

    fn text(&self, argument: &str) -> Option<&'a str> {
        self.arguments.get(argument)?.as_str()
    }

    pub(super) fn action(&self) -> Action<'a> {
        let script = match self.declared() {
            Some(ToolAction::Command(argument) | ToolAction::Script(argument)) => self.text(argument),
            // A tool that declares nothing must not pass the rules about commands.
            None if self.has_group(ToolGroup::Command) => self.text("command"),
            _ => None,
        };
        match (script, self.access()) {
            (Some(script), _) => Action::Shell(script),
            (_, Some(access)) => Action::Files(access),
            _ => Action::Other,
        }
    }

    /// Whether judging it may take longer than anybody who waits for something else should wait.
    pub(crate) fn takes_long(&self) -> bool {
        matches!(self.action(), Action::Shell(command) if command.len() > LONG_COMMAND_BYTES)
    }

    /// The access of one of goose's own file tools.
    pub(super) fn access(&self) -> Option<Access> {
        match self.declared() {
            Some(ToolAction::Reads(_)) => Some(Access::Read),
            Some(ToolAction::Writes(_)) => Some(Access::Write),
            None if self.takes_path() && self.has_group(ToolGroup::Edit) => Some(Access::Write),
            None if self.takes_path() && self.has_group(ToolGroup::Read) => Some(Access::Read),
            _ => None,
        }
    }

    /// Whether a tool that declares nothing has an argument that names files, and does not run commands.
    fn takes_path(&self) -> bool {
        let properties = self.tool.input_schema().get("properties").and_then(Value::as_object);
        !self.has_group(ToolGroup::Command)
            && properties.is_some_and(|all| PATH_ARGUMENTS.iter().any(|name| all.contains_key(*name)))
    }

    /// The paths in the arguments; `None` where there are too many, or one is no text.
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

    /// Whether goose knows that the tool changes nothing. What a server says of its own tools does not count.
    pub(super) fn is_read_only(&self) -> bool {
        let groups = self.groups();
        let hint = self.tool.annotations().and_then(|annotations| annotations.read_only_hint);
        self.origin == Origin::Own
            && match groups.is_empty() {
                true => hint == Some(true),
                false => groups.iter().all(|group| *group == ToolGroup::Read) && hint != Some(false),
            }
    }

    /// Returns true if everything that it does is calls of other tools.
    pub(super) fn only_calls_tools(&self) -> bool {
        matches!(self.declared(), Some(ToolAction::CallsTools))
    }

    /// Whether the tool itself says that it destroys something, or does not say that it does not.
    pub(super) fn may_destroy(&self) -> bool {
        let annotations = self.tool.annotations();
        let hint = annotations.and_then(|annotations| annotations.destructive_hint);
        self.has_group(ToolGroup::Command) || hint == Some(true)
    }
}
