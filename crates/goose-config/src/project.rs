//! [`ProjectFile`]: a file of a project, such as its configuration, a recipe or an agent. It is used only if
//! the user trusts it ([`TrustStore`]).

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::{
    ConfigError, ConfigFile, MAX_CONFIG_BYTES, Paths, Place,
    editor::{self, Audience},
    file::read_capped,
    yaml,
};

/// Path of the configuration from the project's folder.
pub const PROJECT_CONFIG: &str = ".goose/config.yaml";

/// Entry that marks the root of a repository.
const GIT: &str = ".git";

/// Maximum number of folders between the working folder and the root.
const MAX_LEVELS: usize = 64;

/// Maximum number of files in one folder.
const MAX_FILES: usize = 1_000;

/// File of a project. It is read once, so that the checked text is the used one. Each file is trusted on its
/// own, by its hash.
#[derive(Clone)]
pub struct ProjectFile {
    path: PathBuf,
    text: String,
}

impl ProjectFile {
    /// Finds the project's configuration: in the working folder, or in the nearest folder above it, up to the
    /// root of the repository. Outside of a repository only the working folder is searched.
    pub fn find(working_dir: &Path) -> Result<Option<Self>, ConfigError> {
        Self::find_named(working_dir, PROJECT_CONFIG)
    }

    /// Finds a file by its path from the project's folder, as [`find`](Self::find) does.
    pub fn find_named(working_dir: &Path, name: &str) -> Result<Option<Self>, ConfigError> {
        match nearest(working_dir, name, Path::is_file) {
            Some(folder) => Self::read(&resolved(folder)?.join(name)),
            None => Ok(None),
        }
    }

    /// Finds the files of a folder by its path from the project's folder, as [`find`](Self::find) does,
    /// sorted by name.
    pub fn find_in(working_dir: &Path, folder_name: &str) -> Result<Vec<Self>, ConfigError> {
        Self::find_all(working_dir, folder_name, |entry| entry)
    }

    /// Finds the files with one name in the subfolders of a folder, such as `SKILL.md` of all skills, as
    /// [`find`](Self::find) does.
    pub fn find_nested(
        working_dir: &Path,
        folder_name: &str,
        file_name: &str,
    ) -> Result<Vec<Self>, ConfigError> {
        Self::find_all(working_dir, folder_name, |entry| entry.join(file_name))
    }

    fn find_all(
        working_dir: &Path,
        folder_name: &str,
        file_of: impl Fn(PathBuf) -> PathBuf,
    ) -> Result<Vec<Self>, ConfigError> {
        let Some(folder) = nearest(working_dir, folder_name, Path::is_dir) else { return Ok(Vec::new()) };
        let folder = resolved(folder)?.join(folder_name);
        let entries = fs::read_dir(&folder).map_err(|error| ConfigError::unreadable(&folder, &error))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| file_of(entry.path())).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        paths.truncate(MAX_FILES);
        paths.iter().filter_map(|path| Self::read(path).transpose()).collect()
    }

    /// Reads a file in the same folder, if it exists.
    pub fn beside(&self, name: &str) -> Result<Option<Self>, ConfigError> {
        Self::read(&self.path.with_file_name(name))
    }

    fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let text = read_capped(path, MAX_CONFIG_BYTES)?;
        Ok(text.map(|text| Self { path: path.to_owned(), text }))
    }

    /// Returns the path, in the resolved folder of the project.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text, to be shown before the user trusts it. This text is used, even if the file changes
    /// meanwhile.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the SHA-256 of the text in hexadecimal.
    pub fn hash(&self) -> String {
        sha256(&self.text)
    }

    /// Parses the file as a configuration.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be parsed.
    pub fn parse(self) -> Result<ConfigFile, ConfigError> {
        ConfigFile::from_text(&self.path, self.text)
    }
}

/// Returns the nearest folder, from the working folder up to the root of the repository, that has an entry of
/// this name.
fn nearest<'a>(working_dir: &'a Path, name: &str, is_wanted: fn(&Path) -> bool) -> Option<&'a Path> {
    project_levels(working_dir, is_ours).into_iter().find(|folder| is_wanted(&folder.join(name)))
}

/// Returns the folders of a project: from the working folder up to the root of the repository; without a
/// repository, only the working folder.
///
/// Stops below a folder for which `is_ours` is false, and ignores a `.git` for which it is false: in `/tmp`,
/// any user could create one above the folders of others.
pub fn project_levels(working_dir: &Path, is_ours: impl Fn(&Path) -> bool) -> Vec<&Path> {
    let mut levels = Vec::new();
    for (level, folder) in working_dir.ancestors().take(MAX_LEVELS).enumerate() {
        if level > 0 && !is_ours(folder) {
            break;
        }
        levels.push(folder);
        let git = folder.join(GIT);
        if git.exists() && (level == 0 || is_ours(&git)) {
            return levels;
        }
    }
    levels.truncate(1);
    levels
}

/// Returns true if a file or folder belongs to the user of this process or to root. Other users can change
/// what belongs to them, so goose does not look there for files of a project.
pub fn is_ours(path: &Path) -> bool {
    let owner = fs::metadata(path).map(|it| it.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw())
}

fn resolved(folder: &Path) -> Result<PathBuf, ConfigError> {
    folder.canonicalize().map_err(|error| ConfigError::unreadable(folder, &error))
}

/// Maximum size of the list.
const MAX_TRUST_BYTES: u64 = 4 * 1024 * 1024;

/// Maximum number of trusted files.
const MAX_TRUSTED: usize = 10_000;

/// First line of the list.
const HEAD: &str =
    "# The project files that goose may use, and the SHA-256 of the text that the user agreed to.\n";

/// Trust of the user in a file of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The user has agreed to exactly this text.
    Trusted,
    /// The user has agreed to the file, but its text has changed since.
    Changed,
    /// The user was never asked, or has withdrawn the consent.
    Unknown,
}

/// List of trusted files. It is read for each check, so that processes can share it.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

/// Written form of the list.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    #[serde(default)]
    trusted: BTreeMap<PathBuf, String>,
}

impl TrustStore {
    /// Returns the list in goose's state folder.
    pub fn new(paths: &Paths) -> Self {
        Self { path: paths.state.join("trusted.yaml") }
    }

    /// Returns the path of the list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a file may be used with its current text.
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read. No file is trusted then.
    pub fn check(&self, file: &ProjectFile) -> Result<Trust, ConfigError> {
        let text = read_capped(&self.path, MAX_TRUST_BYTES)?.unwrap_or_default();
        Ok(match self.parse(&text)?.trusted.get(file.path()) {
            Some(hash) if *hash == file.hash() => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        })
    }

    /// Returns the configuration of a folder's project if it may be used. One that cannot be read is not used.
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read.
    pub fn trusted_config(&self, working_dir: &Path) -> Result<Option<ProjectFile>, ConfigError> {
        let Ok(Some(file)) = ProjectFile::find(working_dir) else { return Ok(None) };
        Ok((self.check(&file)? == Trust::Trusted).then_some(file))
    }

    /// Remembers that the user has agreed to the current text of a file.
    pub fn trust(&self, file: &ProjectFile) -> Result<(), ConfigError> {
        self.update(|trusted| {
            trusted.insert(file.path().to_owned(), file.hash());
        })
    }

    /// Removes a file from the list. Returns whether it was on it.
    pub fn forget(&self, path: &Path) -> Result<bool, ConfigError> {
        let mut was_there = false;
        self.update(|trusted| was_there = trusted.remove(path).is_some())?;
        Ok(was_there)
    }

    fn update(&self, mut change: impl FnMut(&mut BTreeMap<PathBuf, String>)) -> Result<(), ConfigError> {
        let unwritable = |reason: String| ConfigError::unwritable(&self.path, reason);
        editor::update(&self.path, MAX_TRUST_BYTES, Audience::Owner, |text| {
            let mut page = self.parse(text)?;
            change(&mut page.trusted);
            if page.trusted.len() > MAX_TRUSTED {
                return Err(unwritable(format!("it has {MAX_TRUSTED} files already; remove some lines")));
            }
            let lines = serde_saphyr::to_string(&page).map_err(|error| unwritable(error.to_string()))?;
            Ok(format!("{HEAD}{lines}"))
        })?;
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Page, ConfigError> {
        let page = yaml::read(text, std::marker::PhantomData::<Option<Page>>).map_err(|error| {
            let place = Place::new(&self.path, yaml::position(&error));
            ConfigError::malformed(place, format!("{}; fix it or remove the file", yaml::message(&error)))
        })?;
        Ok(page.unwrap_or_default())
    }
}

impl std::fmt::Debug for ProjectFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProjectFile").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
