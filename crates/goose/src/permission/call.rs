//! [`CallToJudge`]: a call that wants to be made, with everything that bears on whether it may.

use std::path::Path;

use goose_extension::{JsonObject, Tool, ToolGroup};
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

/// A call that wants to be made. [`Member::call`](crate::agents::toolset::Member::call) makes one.
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

/// The arguments that name files or folders.
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

    fn has_group(&self, group: ToolGroup) -> bool {
        self.origin == Origin::Own && self.tool.groups().contains(&group)
    }

    pub(super) fn action(&self) -> Action<'a> {
        match (self.arguments.get("command"), self.access()) {
            (Some(Value::String(command)), _) if self.has_group(ToolGroup::Command) => Action::Shell(command),
            (_, Some(access)) => Action::Files(access),
            _ => Action::Other,
        }
    }

    /// Whether judging it may take longer than anybody who waits for something else should wait.
    pub(crate) fn takes_long(&self) -> bool {
        matches!(self.action(), Action::Shell(command) if command.len() > LONG_COMMAND_BYTES)
    }

    /// What one of goose's own file tools does with files.
    pub(super) fn access(&self) -> Option<Access> {
        let properties = self.tool.input_schema().get("properties").and_then(Value::as_object);
        let takes_path = properties
            .is_some_and(|properties| PATH_ARGUMENTS.iter().any(|name| properties.contains_key(*name)));
        match takes_path && !self.has_group(ToolGroup::Command) {
            true if self.has_group(ToolGroup::Edit) => Some(Access::Write),
            true if self.has_group(ToolGroup::Read) => Some(Access::Read),
            _ => None,
        }
    }

    /// The paths in the arguments; `None` where there are too many, or one is no text.
    pub(super) fn paths(&self) -> Option<Vec<&'a str>> {
        let mut paths = Vec::new();
        for value in PATH_ARGUMENTS.iter().filter_map(|name| self.arguments.get(*name)) {
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
        let groups = self.tool.groups();
        let hint = self.tool.annotations().and_then(|annotations| annotations.read_only_hint);
        self.origin == Origin::Own
            && match groups.is_empty() {
                true => hint == Some(true),
                false => groups.iter().all(|group| *group == ToolGroup::Read) && hint != Some(false),
            }
    }

    /// Whether the tool itself says that it destroys something, or does not say that it does not.
    pub(super) fn may_destroy(&self) -> bool {
        let annotations = self.tool.annotations();
        let hint = annotations.and_then(|annotations| annotations.destructive_hint);
        self.has_group(ToolGroup::Command) || hint == Some(true)
    }
}
