//! [`HookFile`]: the files that may have hooks, in the order in which their hooks are listed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_config::{ConfigFile, MAX_CONFIG_BYTES, ProjectFile, Settings, Trust, TrustStore, read_capped};
use serde::Serialize;
use serde_json::Value;

use super::file::{self, Hook, ParsedHooks};

/// Key of the hooks in all files.
const HOOKS: &str = "hooks";

/// Key that switches the hooks of a `settings.json` off.
const DISABLE_ALL: &str = "disableAllHooks";

/// Path of the settings of Claude Code, from the home folder and from a project's folder.
const CLAUDE_SETTINGS: &str = ".claude/settings.json";

/// Paths of the settings of Claude Code from a project's folder: shared ones, and the user's own.
const PROJECT_SETTINGS: [&str; 2] = [CLAUDE_SETTINGS, ".claude/settings.local.json"];

/// File with hooks.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct HookFile {
    /// Path of the file.
    pub path: Arc<PathBuf>,
    /// State of its hooks.
    pub state: HookFileState,
    /// Hooks of the file.
    pub hooks: Vec<Hook>,
    /// Entries that cannot be used, with the reason.
    pub problems: Vec<String>,
    /// Events in the file that goose does not have.
    pub unsupported: Vec<String>,
}

/// State of the hooks of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookFileState {
    /// They run.
    Used,
    /// They belong to the project, and the user does not trust the file in its current form.
    NotTrusted,
    /// The file switches them off.
    Disabled,
}

impl HookFile {
    /// Finds the files with hooks for a folder: the user's configuration and `~/.claude/settings.json`, then
    /// the project's configuration, if it is trusted, and its `.claude/settings.json` and
    /// `.claude/settings.local.json`. Files without hooks are left out.
    pub fn find_all(settings: &Settings, working_dir: &Path) -> Vec<Self> {
        let user = settings.user_file();
        let home = settings.variable("HOME").map(|home| Path::new(home).join(CLAUDE_SETTINGS));
        let of_home = home.as_deref().and_then(|path| match read_capped(path, MAX_CONFIG_BYTES) {
            Ok(text) => text.and_then(|text| Self::claude(path, &text)),
            Err(error) => Some(Self::broken(path, error.to_string())),
        });
        // In the home folder, both paths lead to one file: it is the user's.
        let users = home.as_deref().and_then(|home| home.canonicalize().ok());
        let of_project = PROJECT_SETTINGS.into_iter().filter_map(|name| {
            match ProjectFile::find_named(working_dir, name) {
                Ok(file) => file
                    .filter(|file| users.as_deref() != Some(file.path()))
                    .and_then(|file| Self::of_project(settings, &file)),
                Err(error) => Some(Self::broken(&working_dir.join(name), error.to_string())),
            }
        });
        let own = [Self::config(user), of_home, settings.project_file().and_then(Self::config)];
        own.into_iter().flatten().chain(of_project).collect()
    }

    /// Reads the hooks of a configuration.
    fn config(file: &ConfigFile) -> Option<Self> {
        match file.get::<Value>(HOOKS) {
            Ok(value) => value.map(|value| Self::new(file.path(), &value)),
            Err(error) => Some(Self::broken(file.path(), error.to_string())),
        }
    }

    /// Reads the hooks of a `settings.json`. Everything else in it belongs to another program.
    fn claude(path: &Path, text: &str) -> Option<Self> {
        let settings: Value = match serde_json::from_str(text) {
            Ok(settings) => settings,
            Err(error) => return Some(Self::broken(path, error.to_string())),
        };
        let mut found = Self::new(path, settings.get(HOOKS)?);
        if settings.get(DISABLE_ALL).and_then(Value::as_bool) == Some(true) {
            found.state = HookFileState::Disabled;
        }
        Some(found)
    }

    fn of_project(settings: &Settings, file: &ProjectFile) -> Option<Self> {
        let mut found = Self::claude(file.path(), file.text())?;
        match TrustStore::new(settings.paths()).check(file) {
            Ok(Trust::Trusted) => {}
            Ok(_) => found.state = HookFileState::NotTrusted,
            Err(error) => {
                found.state = HookFileState::NotTrusted;
                found.problems.push(error.to_string());
            }
        }
        Some(found)
    }

    fn new(path: &Path, value: &Value) -> Self {
        let path = Arc::new(path.to_owned());
        let ParsedHooks { hooks, problems, unsupported } = file::parse(value, &path);
        Self { path, state: HookFileState::Used, hooks, problems, unsupported }
    }

    fn broken(path: &Path, problem: String) -> Self {
        Self { problems: vec![problem], ..Self::new(path, &Value::Null) }
    }

    /// Returns a notice for the user about entries that cannot be used.
    pub(crate) fn notice(&self) -> Option<String> {
        let first = self.problems.first()?;
        let more = match self.problems.len() {
            1 => String::new(),
            count => format!(" (and {} more; see `goose hooks list`)", count - 1),
        };
        Some(format!("A hook in {} is not used: {first}{more}", self.path.display()))
    }
}

/// Returns those of the project's `.claude/settings.json` and `.claude/settings.local.json` that have hooks.
pub(crate) fn project_hooks(working_dir: &Path) -> Vec<ProjectFile> {
    let files =
        PROJECT_SETTINGS.into_iter().filter_map(|name| ProjectFile::find_named(working_dir, name).ok()?);
    let has_hooks = |file: &ProjectFile| {
        HookFile::claude(file.path(), file.text()).is_some_and(|found| !found.hooks.is_empty())
    };
    files.filter(has_hooks).collect()
}

/// Returns a notice about hooks of the project that the user does not trust.
pub(crate) fn untrusted_hooks_notice(files: &[HookFile]) -> Option<String> {
    let is_untrusted = |file: &&HookFile| file.state == HookFileState::NotTrusted && !file.hooks.is_empty();
    let file = files.iter().find(is_untrusted)?;
    Some(format!(
        "The hooks in {} are not used because the file is not trusted. `goose hooks list` shows them, and \
         `goose configure trust` trusts them.",
        file.path.display()
    ))
}
