//! [`GroupAccess`]: a group of tools that a mode may use, and the files that they may touch.

use std::{fmt, sync::OnceLock};

use fancy_regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::manifest::InvalidManifest;

/// Maximum length of the regular expression of a file restriction.
const MAX_REGEX: usize = 1_000;

/// Maximum number of steps that a regular expression may take on one path.
const MAX_REGEX_STEPS: usize = 100_000;

/// Regular expression for Markdown files.
const MARKDOWN: &str = r"\.md$";

/// A group of tools that a mode may use. In files it is a name, or `[name, {fileRegex, description}]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenAccess", into = "WrittenAccess")]
pub struct GroupAccess {
    /// Name of the group.
    pub group: String,
    /// Files that the tools may touch. `None` allows all files.
    pub files: Option<FileRestriction>,
}

impl From<&str> for GroupAccess {
    fn from(group: &str) -> Self {
        Self { group: group.to_owned(), files: None }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a group, or [NAME, {fileRegex: REGEX, description: TEXT}]"
)]
enum WrittenAccess {
    Whole(String),
    Restricted(String, WrittenRestriction),
}

#[derive(Serialize, Deserialize)]
struct WrittenRestriction {
    #[serde(rename = "fileRegex", alias = "file_regex")]
    file_regex: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
}

impl TryFrom<WrittenAccess> for GroupAccess {
    type Error = InvalidManifest;

    fn try_from(written: WrittenAccess) -> Result<Self, InvalidManifest> {
        Ok(match written {
            WrittenAccess::Whole(group) => Self { group, files: None },
            WrittenAccess::Restricted(group, files) => {
                Self { group, files: Some(FileRestriction::new(&files.file_regex, files.description)?) }
            }
        })
    }
}

impl From<GroupAccess> for WrittenAccess {
    fn from(access: GroupAccess) -> Self {
        match access.files {
            None => Self::Whole(access.group),
            Some(files) => {
                let file_regex = files.pattern.clone();
                Self::Restricted(
                    access.group,
                    WrittenRestriction { file_regex, description: files.description },
                )
            }
        }
    }
}

/// Files that the tools of a group may touch.
#[derive(Debug, Clone)]
pub struct FileRestriction {
    pattern: String,
    /// Compiled when the first file is checked. `None` if the pattern is invalid.
    regex: OnceLock<Option<Regex>>,
    description: String,
}

impl FileRestriction {
    /// Creates a restriction to files whose path, relative to the working folder, matches a regular
    /// expression.
    ///
    /// # Errors
    ///
    /// Fails if the expression is invalid.
    pub fn new(regex: &str, description: impl Into<String>) -> Result<Self, InvalidManifest> {
        let bad =
            |why: String| InvalidManifest::new(format!("the 'fileRegex' '{regex}' cannot be used: {why}"));
        if regex.len() > MAX_REGEX {
            return Err(bad(format!("it is longer than {MAX_REGEX} bytes")));
        }
        let built = compile(regex).map_err(|error| bad(error.to_string()))?;
        Ok(Self { pattern: regex.to_owned(), regex: Some(built).into(), description: description.into() })
    }

    /// Creates a restriction to Markdown files.
    pub(super) fn markdown() -> Self {
        let description = "Markdown files only".to_owned();
        Self { pattern: MARKDOWN.to_owned(), regex: OnceLock::new(), description }
    }

    /// Returns true if Markdown files may be touched. The usual expression for them is not compiled for this.
    pub(super) fn allows_markdown(&self) -> bool {
        self.pattern == MARKDOWN || self.allows("a.md")
    }

    /// Returns true if the file may be touched. A path that exceeds the step limit may not.
    pub fn allows(&self, path: &str) -> bool {
        let regex = self.regex.get_or_init(|| compile(&self.pattern).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(path).unwrap_or(false))
    }
}

fn compile(regex: &str) -> Result<Regex, fancy_regex::Error> {
    RegexBuilder::new(regex).backtrack_limit(MAX_REGEX_STEPS).build()
}

impl fmt::Display for FileRestriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.description.is_empty() {
            true => write!(f, "files that match {}", self.pattern),
            false => f.write_str(&self.description),
        }
    }
}

impl PartialEq for FileRestriction {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && self.description == other.description
    }
}
