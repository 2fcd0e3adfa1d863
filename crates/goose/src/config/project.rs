//! [`ProjectFile`]: the configuration that comes with a project. It counts only where the person trusts it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{ConfigError, ConfigFile, MAX_CONFIG_BYTES, file::read_capped};

/// The file, from the project's folder.
const PROJECT_CONFIG: &str = ".goose/config.yaml";

/// What the root of a repository has in it.
const GIT: &str = ".git";

/// The most folders that are looked at on the way up.
const MAX_LEVELS: usize = 64;

/// A project's `.goose/config.yaml`, read once: what is judged is what is used.
#[derive(Clone)]
pub struct ProjectFile {
    path: PathBuf,
    text: String,
}

impl ProjectFile {
    /// The file that belongs to a working folder: in it, or in the nearest folder above it, up to the root of the
    /// repository. Outside of a repository only the folder itself is looked at.
    pub fn find(working_dir: &Path) -> Result<Option<Self>, ConfigError> {
        let levels: Vec<&Path> = working_dir.ancestors().take(MAX_LEVELS).collect();
        let nearest = levels.iter().position(|folder| folder.join(PROJECT_CONFIG).is_file());
        let Some(folder) = nearest.and_then(|at| levels.get(at)) else { return Ok(None) };
        let root = levels.iter().position(|folder| folder.join(GIT).exists()).unwrap_or_default();
        if nearest > Some(root) {
            return Ok(None);
        }
        Self::read(folder)
    }

    /// The file of a project's folder.
    fn read(folder: &Path) -> Result<Option<Self>, ConfigError> {
        let unreadable = |error: std::io::Error| ConfigError::Unreadable {
            path: folder.to_owned(),
            reason: error.to_string(),
        };
        let path = folder.canonicalize().map_err(unreadable)?.join(PROJECT_CONFIG);
        let text = read_capped(&path, MAX_CONFIG_BYTES)?;
        Ok(text.map(|text| Self { path, text }))
    }

    /// The file, in the resolved folder of the project.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says, to be shown before the person agrees to it: this, and not what the file says by then, is used.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The SHA-256 of the text, in hexadecimal.
    pub fn hash(&self) -> String {
        Sha256::digest(&self.text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What it says.
    ///
    /// # Errors
    ///
    /// Where it cannot be parsed.
    pub fn parse(self) -> Result<ConfigFile, ConfigError> {
        ConfigFile::from_text(&self.path, self.text)
    }
}

impl fmt::Debug for ProjectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectFile").field("path", &self.path).finish_non_exhaustive()
    }
}
