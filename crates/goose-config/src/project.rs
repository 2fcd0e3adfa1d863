//! [`ProjectFile`]: a file that a project brings: its configuration, a recipe, an agent. It counts only
//! where the user trusts it ([`TrustStore`]).

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

/// The configuration, from the project's folder.
pub const PROJECT_CONFIG: &str = ".goose/config.yaml";

/// Markers of the root of a repository.
const GIT: &str = ".git";

/// The most folders that are looked at on the way up.
const MAX_LEVELS: usize = 64;

/// The most files of one folder.
const MAX_FILES: usize = 1_000;

/// A file of a project, read once: what is judged is what is used. Each file is trusted by itself, with its own hash.
#[derive(Clone)]
pub struct ProjectFile {
    path: PathBuf,
    text: String,
}

impl ProjectFile {
    /// The project's configuration: in the working folder, or in the nearest folder above it, up to the root of the
    /// repository. Outside of a repository only the folder itself is looked at.
    pub fn find(working_dir: &Path) -> Result<Option<Self>, ConfigError> {
        Self::find_named(working_dir, PROJECT_CONFIG)
    }

    /// A file by its path from the project's folder, looked for in the same way.
    pub fn find_named(working_dir: &Path, name: &str) -> Result<Option<Self>, ConfigError> {
        match nearest(working_dir, name, Path::is_file) {
            Some(folder) => Self::read(&resolved(folder)?.join(name)),
            None => Ok(None),
        }
    }

    /// The files of a folder by its path from the project's folder, looked for in the same way; in the order of their names.
    pub fn find_in(working_dir: &Path, folder_name: &str) -> Result<Vec<Self>, ConfigError> {
        Self::find_all(working_dir, folder_name, |entry| entry)
    }

    /// The files of one name in the folders of a folder, such as `SKILL.md` of all skills, looked for in the same way.
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
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| file_of(entry.path())).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        paths.truncate(MAX_FILES);
        paths.iter().filter_map(|path| Self::read(path).transpose()).collect()
    }

    /// A file in the same folder.
    pub fn beside(&self, name: &str) -> Result<Option<Self>, ConfigError> {
        Self::read(&self.path.with_file_name(name))
    }

    fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let text = read_capped(path, MAX_CONFIG_BYTES)?;
        Ok(text.map(|text| Self { path: path.to_owned(), text }))
    }

    /// The file, in the resolved folder of the project.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its contents, to be shown before the person agrees to them: these are used, even if the file changes meanwhile.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The SHA-256 of the text, in hexadecimal.
    pub fn hash(&self) -> String {
        sha256(&self.text)
    }

    /// Its contents.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be parsed.
    pub fn parse(self) -> Result<ConfigFile, ConfigError> {
        ConfigFile::from_text(&self.path, self.text)
    }
}

/// The nearest folder, from the working folder up to the root of the repository, that has something of this name.
fn nearest<'a>(working_dir: &'a Path, name: &str, is_wanted: fn(&Path) -> bool) -> Option<&'a Path> {
    project_levels(working_dir, is_ours).into_iter().find(|folder| is_wanted(&folder.join(name)))
}

/// The folders of a project: from the working folder up to the root of the repository, and without a repository the working
/// folder alone.
///
/// The way up ends below a folder that is not ours, and a `.git` that is not ours makes no repository: in `/tmp`, any user
/// could put one above the folders of others.
pub fn project_levels(working_dir: &Path, is_ours: impl Fn(&Path) -> bool) -> Vec<&Path> {
    let is_way_up = |(level, folder): &(usize, &Path)| *level == 0 || is_ours(folder);
    let levels = working_dir.ancestors().take(MAX_LEVELS).enumerate().take_while(is_way_up);
    let mut levels: Vec<&Path> = levels.map(|(_, folder)| folder).collect();
    let is_root = |(level, folder): (usize, &&Path)| {
        let git = folder.join(GIT);
        git.exists() && (level == 0 || is_ours(&git))
    };
    let root = levels.iter().enumerate().position(is_root).unwrap_or_default();
    levels.truncate(root + 1);
    levels
}

/// Returns true if a file or folder belongs to the user of this process, or to root.
pub fn is_ours(path: &Path) -> bool {
    let owner = fs::metadata(path).map(|it| it.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw())
}

fn resolved(folder: &Path) -> Result<PathBuf, ConfigError> {
    folder.canonicalize().map_err(|error| unreadable(folder, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

/// The largest list that is read.
const MAX_TRUST_BYTES: u64 = 4 * 1024 * 1024;

/// The most files that are trusted at a time.
const MAX_TRUSTED: usize = 10_000;

/// Header of the list.
const HEAD: &str = "# The project files that goose may use, and the SHA-256 of what was agreed to.\n";

/// True if a project's file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The person has agreed to exactly this content.
    Trusted,
    /// The person has agreed to it, but it has changed since.
    Changed,
    /// The person was never asked, or has taken it back.
    Unknown,
}

/// The list of trusted files. It is read each time, so that processes can share it.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

/// The list, as it is written.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    #[serde(default)]
    trusted: BTreeMap<PathBuf, String>,
}

impl TrustStore {
    /// The list in goose's state folder.
    pub fn new(paths: &Paths) -> Self {
        Self { path: paths.state.join("trusted.yaml") }
    }

    /// The file with the list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a file may be used as it is now.
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read. Nothing is trusted then.
    pub fn check(&self, file: &ProjectFile) -> Result<Trust, ConfigError> {
        let text = read_capped(&self.path, MAX_TRUST_BYTES)?.unwrap_or_default();
        Ok(match self.parse(&text)?.trusted.get(file.path()) {
            Some(hash) if *hash == file.hash() => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        })
    }

    /// Remembers that the person has agreed to a file as it is now.
    pub fn trust(&self, file: &ProjectFile) -> Result<(), ConfigError> {
        self.update(|trusted| {
            trusted.insert(file.path().to_owned(), file.hash());
        })
    }

    /// Forgets a file. Whether it was there.
    pub fn forget(&self, path: &Path) -> Result<bool, ConfigError> {
        let mut was_there = false;
        self.update(|trusted| was_there = trusted.remove(path).is_some())?;
        Ok(was_there)
    }

    fn update(&self, mut change: impl FnMut(&mut BTreeMap<PathBuf, String>)) -> Result<(), ConfigError> {
        editor::update(&self.path, MAX_TRUST_BYTES, Audience::Owner, |text| {
            let mut page = self.parse(text)?;
            change(&mut page.trusted);
            if page.trusted.len() > MAX_TRUSTED {
                return Err(self.unwritable(format!("it has {MAX_TRUSTED} files already; remove some lines")));
            }
            let lines = serde_saphyr::to_string(&page).map_err(|error| self.unwritable(error.to_string()))?;
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

    fn unwritable(&self, reason: String) -> ConfigError {
        ConfigError::Unwritable { path: self.path.clone(), reason }
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
