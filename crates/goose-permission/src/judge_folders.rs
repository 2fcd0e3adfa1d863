//! Judges the folders in which a command runs: the same words have another effect where other files are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    git_repository::{self, RepositoryRisk},
    judge::Judge,
    path_arguments::without_dots,
    shell::{Folders, Word},
};

/// Files by which version managers select the program behind a name.
const VERSION_FILES: [&str; 19] = [
    ".go-version",
    ".java-version",
    ".mise.toml",
    ".node-version",
    ".nvmrc",
    ".prototools",
    ".python-version",
    ".ruby-version",
    ".sdkmanrc",
    ".swift-version",
    ".terraform-version",
    ".tool-versions",
    ".config/mise.toml",
    "devbox.json",
    "global.json",
    "mise.local.toml",
    "mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Largest `package.json` that is read.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

impl Judge<'_> {
    /// Returns true if a file in the working folder or above selects the version of a language that is run.
    /// Files in the home folder are trusted.
    pub(super) fn chooses_versions(&self, words: &[Word]) -> bool {
        let program = words.first().and_then(Word::program).unwrap_or_default();
        let chooses = |folder: &Path| {
            let others = match program {
                "npm" => {
                    names_version(folder.join("package.json"), &["packageManager"])
                        || is_there(folder.join(".npmrc"))
                }
                "go" => ["go.mod", "go.work"].iter().any(|it| names_version(folder.join(it), &["toolchain"])),
                _ => false,
            };
            has_version_file(folder) || others
        };
        let home = self.bases.home.and_then(|home| self.bases.known.resolve(home).ok());
        let is_project = |folder: &&Path| home.as_deref() != Some(*folder);
        self.bases
            .known
            .resolve(self.bases.working)
            .map_or(true, |working| working.ancestors().take_while(is_project).any(chooses))
    }

    /// Returns the reason why git may run a program here although the command only reads.
    pub(super) fn repository_risk(&self, words: &[Word]) -> Option<&RepositoryRisk> {
        let is_git = words.first().and_then(Word::program) == Some("git");
        let look = || git_repository::risk(self.bases.working);
        if is_git { self.repository.get_or_init(look).as_ref() } else { None }
    }

    /// Returns true for `cd` into a folder below the working folder, which has no effect by itself.
    pub(super) fn stays_inside(&self, words: &[Word], folders: &Folders) -> bool {
        let [program, target] = words else { return false };
        let Some(target) = target.text.as_deref().filter(|target| !target.starts_with('-')) else {
            return false;
        };
        let Ok(working) = self.bases.known.resolve(self.bases.working) else { return false };
        let places = self.places(&folders.join(target)).unwrap_or_default();
        let is_inside =
            |place: &PathBuf| self.bases.known.resolve(place).is_ok_and(|place| place.starts_with(&working));
        let is_fine = places.iter().all(is_inside) || self.is_in_project(&folders.join(target));
        program.text.as_deref() == Some("cd") && !places.is_empty() && is_fine
    }

    /// Returns true if these folders are certainly the working folder, under any name.
    pub(super) fn is_here(&self, folders: &Folders) -> bool {
        if folders.is_here() {
            return true;
        }
        let Ok(working) = self.bases.known.resolve(self.bases.working) else { return false };
        let is_same = |place: &PathBuf| self.bases.known.resolve(place).is_ok_and(|place| place == working);
        self.places(folders).is_some_and(|places| places.iter().all(is_same))
    }

    /// Returns true if these folders certainly belong to the project: they have files in the repository of
    /// the working folder, and no repository or version file of their own.
    pub(super) fn is_in_project(&self, folders: &Folders) -> bool {
        if folders.is_here() {
            return true;
        }
        let Ok(working) = self.bases.known.resolve(self.bases.working) else { return false };
        let home = self.bases.home.and_then(|home| self.bases.known.resolve(home).ok());
        let is_above_home = |folder: &Path| home.as_ref().is_some_and(|home| home.starts_with(folder));
        let root = working.ancestors().find(|folder| is_there(folder.join(".git")));
        let root = root.filter(|folder| !is_above_home(folder));
        let has_own = |folder: &Path| git_repository::is_repository(folder) || has_version_file(folder);
        let is_inside = |place: &PathBuf| {
            let Ok(place) = self.bases.known.resolve(place) else { return false };
            let own = place.ancestors().take_while(|folder| !working.starts_with(folder));
            place == working
                || (root.is_some_and(|root| git_repository::tracks(root, &place))
                    && place.is_dir()
                    && !own.into_iter().any(has_own))
        };
        self.places(folders).is_some_and(|places| places.iter().all(is_inside))
    }

    /// Returns the absolute paths of these folders, with `..` both removed as shells do and resolved through
    /// links; `None` if they are not known.
    pub(super) fn places(&self, folders: &Folders) -> Option<Vec<PathBuf>> {
        let Folders::Known(folders) = folders else { return None };
        let mut places = Vec::new();
        for folder in folders.iter() {
            if folder.is_empty() {
                places.push(self.bases.working.to_owned());
                continue;
            }
            let written = self.bases.absolute(folder).ok()?;
            if folder.contains("..") {
                places.push(self.bases.known.resolve(&written).ok()?);
            }
            places.push(without_dots(&written));
        }
        places.dedup();
        Some(places)
    }
}

/// Says that a command runs in another folder.
pub(super) fn in_another_folder(folders: &Folders) -> String {
    match folders {
        Folders::Known(folders) if folders.len() == 1 => {
            format!("runs in another folder (`{}`)", super::judge::shown(&folders[0]))
        }
        _ => "may run in another folder".to_owned(),
    }
}

pub(super) fn is_there(path: PathBuf) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns true if a small file has one of these names in it, or cannot be read.
fn names_version(file: PathBuf, names: &[&str]) -> bool {
    match file.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_PACKAGE_BYTES => true,
        Ok(_) => fs::read_to_string(file).map_or(true, |text| names.iter().any(|name| text.contains(name))),
        Err(_) => false,
    }
}

/// Returns true if a file in a folder selects the versions of programs.
fn has_version_file(folder: &Path) -> bool {
    VERSION_FILES.iter().any(|name| is_there(folder.join(name)))
        || names_version(folder.join("package.json"), &["volta"])
}
