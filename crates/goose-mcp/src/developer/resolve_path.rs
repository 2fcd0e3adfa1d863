//! What a path in an argument means: relative to the working folder of the call, `~` the person's home.
//!
//! It is taken as it is written: who judged the call read the same path. Blanks at its ends are refused, never taken off.

use std::path::{Path, PathBuf};

use goose_extension::{CallContext, ToolError, ToolResult};

use super::Developer;

/// How long a path may be.
const MAX_PATH_BYTES: usize = 4096;
/// How much of something that is no path an error quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// A file or folder that an argument names.
#[derive(Debug, Clone)]
pub(super) struct ResolvedPath {
    /// As it was given, for messages.
    pub(super) given: String,
    /// Where it is. Links in it are not resolved.
    pub(super) path: PathBuf,
}

impl Developer {
    /// The place that a path in an argument names.
    ///
    /// # Errors
    ///
    /// Where it can be no path.
    pub(super) fn resolve_path(&self, given: &str, context: &CallContext) -> ToolResult<ResolvedPath> {
        resolve(given, context.working_dir(), self.home.as_deref())
    }
}

fn resolve(given: &str, folder: &Path, home: Option<&Path>) -> ToolResult<ResolvedPath> {
    if given.trim() != given {
        return Err(ToolError::ExecutionError(format!(
            "The path has blanks at its ends: {:?}. Nothing was done. Give it without them; for a file whose name has \
             such blanks, use the shell.",
            given.chars().take(MAX_QUOTED_CHARS).collect::<String>()
        )));
    }
    if given.contains(char::is_control) {
        return Err(ToolError::ExecutionError(format!(
            "The path has a line end or another control character in it: {:?}. Nothing was done. Give one path; for a file \
             whose name has such characters, use the shell.",
            given.chars().take(MAX_QUOTED_CHARS).collect::<String>()
        )));
    }
    if given.is_empty() || given.len() > MAX_PATH_BYTES {
        return Err(ToolError::ExecutionError(format!(
            "This is no path: {:?}. Give the path of a file or folder, relative to the working folder or absolute.",
            given.chars().take(MAX_QUOTED_CHARS).collect::<String>()
        )));
    }
    let path = match (given.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => folder.join(given),
    };
    Ok(ResolvedPath { given: given.to_owned(), path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_absolute_or_at_home() {
        let at = |given| resolve(given, Path::new("/work"), Some(Path::new("/home/me"))).unwrap().path;
        assert_eq!(at("a/b.rs"), Path::new("/work/a/b.rs"));
        assert_eq!(at("/etc/x"), Path::new("/etc/x"));
        assert_eq!(at("~"), Path::new("/home/me"));
        assert_eq!(at("~/a"), Path::new("/home/me/a"));
        assert_eq!(at("~you/a"), Path::new("/work/~you/a"));
        let blanks = ["", " ", " /etc/x", "/etc/x ", "\t~/a", "a\n", "a\nb", "a\tb", "\u{a0}a"];
        for bad in blanks.into_iter().chain(["a\0b", &"x".repeat(MAX_PATH_BYTES + 1)]) {
            assert!(resolve(bad, Path::new("/"), None).is_err(), "{bad:?}");
        }
    }
}
