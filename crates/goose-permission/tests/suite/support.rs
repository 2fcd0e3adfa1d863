//! Support for the tests of permissions: a home folder, calls, and functions that read verdicts.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_config::Paths;
use goose_extension::{JsonObject, Tool, ToolAction, ToolGroup};
use goose_permission::{CallToJudge, Mode, Origin, PermissionOptions, Permissions, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A temporary home folder with a working folder and goose's configuration.
pub(crate) struct TestHome {
    folder: TempDir,
}

impl TestHome {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let home = Self { folder: tempfile::tempdir()? };
        fs::create_dir_all(home.work())?;
        fs::create_dir_all(home.paths().config)?;
        Ok(home)
    }

    /// Creates a home with a rules file.
    pub(crate) fn with_rules(rules: &[&str]) -> anyhow::Result<Self> {
        let home = Self::new()?;
        let lines: Vec<String> = rules.iter().map(|rule| format!("  - {rule}\n")).collect();
        let text = if rules.is_empty() { String::new() } else { format!("rules:\n{}", lines.concat()) };
        fs::write(home.file(), text)?;
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::under(self.path().join("goose"))
    }

    /// Returns the path of the rules file.
    pub(crate) fn file(&self) -> PathBuf {
        self.paths().config.join("permission.yaml")
    }

    pub(crate) fn options(&self, mode: Mode) -> PermissionOptions {
        PermissionOptions::new(mode).with_paths(&self.paths()).with_home(self.path())
    }

    pub(crate) fn permissions(&self, mode: Mode) -> Arc<Permissions> {
        Permissions::new(self.options(mode))
    }

    /// Returns the verdict about a command in the working folder.
    pub(crate) fn shell(&self, mode: Mode, command: &str) -> Verdict {
        let call = Call::shell(command);
        self.permissions(mode).judge(&call.in_folder(&self.work()))
    }

    /// Returns the verdict about a command in the home folder.
    pub(crate) fn shell_at_home(&self, mode: Mode, command: &str) -> Verdict {
        self.permissions(mode).judge(&Call::shell(command).in_folder(self.path()))
    }

    /// Returns the verdict about a call in the working folder.
    pub(crate) fn judge(&self, mode: Mode, call: &Call) -> Verdict {
        self.permissions(mode).judge(&call.in_folder(&self.work()))
    }
}

/// A call and its tool.
pub(crate) struct Call {
    pub(crate) tool: Tool,
    pub(crate) bare_name: String,
    pub(crate) origin: Origin,
    pub(crate) arguments: JsonObject,
}

impl Call {
    pub(crate) fn new(name: &str, groups: &[ToolGroup], origin: Origin, arguments: Value) -> Self {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let arguments = object(arguments);
        let properties: JsonObject =
            arguments.keys().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
        let schema = object(json!({ "type": "object", "properties": properties }));
        let tool = Tool::new(name.to_owned(), "A tool.", schema).with_groups(groups.iter().copied());
        let bare_name = name.rsplit("__").next().unwrap_or(name).to_owned();
        Self { tool, bare_name, origin, arguments }
    }

    pub(crate) fn shell(command: &str) -> Self {
        Self::new("developer__shell", &[ToolGroup::Command], Origin::Own, json!({ "command": command }))
            .declaring(ToolAction::command("command"))
    }

    pub(crate) fn read(path: &str) -> Self {
        Self::new("developer__read", &[ToolGroup::Read], Origin::Own, json!({ "path": path }))
            .declaring(ToolAction::reads("path"))
    }

    pub(crate) fn write(path: &str) -> Self {
        Self::new("developer__write", &[ToolGroup::Edit], Origin::Own, json!({ "path": path, "content": "" }))
            .declaring(ToolAction::writes("path"))
    }

    /// Returns the same call, with a tool that declares this action.
    pub(crate) fn declaring(mut self, action: ToolAction) -> Self {
        self.tool = self.tool.with_action(action);
        self
    }

    /// Creates a call of a tool from an external server.
    pub(crate) fn foreign(name: &str, arguments: Value) -> Self {
        Self::new(name, &[], Origin::Foreign, arguments)
    }

    pub(crate) fn in_folder<'a>(&'a self, working_dir: &'a Path) -> CallToJudge<'a> {
        CallToJudge {
            tool: &self.tool,
            bare_name: &self.bare_name,
            origin: self.origin,
            arguments: &self.arguments,
            working_dir,
            concern: None,
        }
    }
}

pub(crate) fn is_ask(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Ask { .. })
}

pub(crate) fn is_deny(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny { .. })
}

/// Returns the rules that "always" would store.
pub(crate) fn always(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Ask { always, .. } if !always.is_empty() => {
            Some(always.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        _ => None,
    }
}

/// Returns the reasons, one per line.
pub(crate) fn reasons(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Ask { reasons, .. } => reasons.join("\n"),
        Verdict::Deny { reason } => reason.clone(),
        Verdict::Allow => String::new(),
    }
}
