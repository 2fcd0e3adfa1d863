//! [`Category`]: the name of a category, which is also the name of its file.
//!
//! A name comes from a model, and it becomes part of a path. What passes here can only be a file in the memory
//! folder itself; the names that people already use (spaces, any script, any case) all pass.

use std::fmt;

use goose_extension::{ToolError, ToolResult};

/// How the file of a category ends.
pub(super) const EXTENSION: &str = ".txt";

/// How long a name may be: what file systems allow (255 bytes), less the extension.
const MAX_CATEGORY_BYTES: usize = 251;

/// How much of a refused name is quoted back.
const MAX_QUOTE_CHARS: usize = 60;

/// Device names that Windows keeps for itself, with any extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The same, when a digit follows.
const RESERVED_NUMBERED: [&str; 2] = ["com", "lpt"];

/// What is wrong with those.
const DEVICE: &str = "Windows reserves this name for a device";

/// The name of one category.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Category(String);

impl Category {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the name and what a category may look like.
    pub(super) fn parse(name: &str) -> ToolResult<Self> {
        match problem(name) {
            None => Ok(Self(name.to_owned())),
            Some(problem) => Err(refused(name, problem)),
        }
    }

    /// The category of a file in a memory folder, where it is one.
    pub(super) fn of_file(file_name: &str) -> Option<Self> {
        let name = file_name.strip_suffix(EXTENSION)?;
        problem(name).is_none().then(|| Self(name.to_owned()))
    }

    /// Refuses a name that a file could not have everywhere. What is there already may be called so.
    ///
    /// # Errors
    ///
    /// As [`Category::parse`].
    pub(super) fn check_new(&self) -> ToolResult<()> {
        if is_reserved(&self.0) { Err(refused(&self.0, DEVICE)) } else { Ok(()) }
    }

    /// The file, within its folder.
    pub(super) fn file_name(&self) -> String {
        format!("{}{EXTENSION}", self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which categories a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// This one.
    One(Category),
    /// All of a folder, written `*`.
    All,
}

impl Selection {
    /// Checks a name; `*` stands for all.
    ///
    /// # Errors
    ///
    /// As [`Category::parse`].
    pub(super) fn parse(name: &str) -> ToolResult<Self> {
        if name == "*" { Ok(Self::All) } else { Category::parse(name).map(Self::One) }
    }
}

fn problem(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("it is empty")
    } else if name.len() > MAX_CATEGORY_BYTES {
        Some("it is too long")
    } else if name == "*" {
        Some("`*` stands for all categories, and this needs a single one")
    } else if name.starts_with('.') {
        Some("it begins with a dot")
    } else if name.contains(['/', '\\']) {
        Some("it contains a slash, and a category is not a path")
    } else if name.chars().any(char::is_control) {
        Some("it contains a control character")
    } else if cfg!(windows) && name.contains(['<', '>', ':', '"', '|', '?', '*']) {
        Some("it contains a character that file names on Windows cannot have")
    } else if cfg!(windows) && is_reserved(name) {
        Some(DEVICE)
    } else {
        None
    }
}

/// Windows looks only at what stands before the first dot, and ignores case and trailing spaces.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    RESERVED.contains(&stem.as_str())
        || RESERVED_NUMBERED.iter().any(|device| stem.strip_prefix(device).is_some_and(is_one_digit))
}

fn is_one_digit(text: &str) -> bool {
    let mut chars = text.chars();
    let digit = matches!(chars.next(), Some('0'..='9' | '¹' | '²' | '³'));
    digit && chars.next().is_none()
}

fn refused(name: &str, problem: &str) -> ToolError {
    let quoted: String = name.chars().take(MAX_QUOTE_CHARS).collect();
    let dots = if quoted.len() < name.len() { "…" } else { "" };
    ToolError::ExecutionError(format!(
        "The category name {quoted:?}{dots} cannot be used: {problem}. A category is a plain name of up to \
         {MAX_CATEGORY_BYTES} bytes, without slashes, control characters or a leading dot; for example \
         `preferences` or `release process`. Call again with such a name."
    ))
}
