//! The meaning of a path in an argument: relative to the working folder of the call, `~` the person's home.
//!
//! It is taken as it is written, because the permissions read the same text: blanks at its ends are refused, never
//! taken off. And it is followed once: a call that was judged uses the places that it was judged by.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use goose_extension::{CallContext, FileTarget, HardLinks, ToolError, ToolResult};

use super::{Developer, files::io_failed};

/// Maximum length of a path.
const MAX_PATH_BYTES: usize = 4096;
/// Characters of an invalid path that an error quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// A file or folder that an argument names.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedPath {
    /// As it was given, for messages.
    pub(crate) given: String,
    /// The place, with all links resolved.
    pub(crate) target: FileTarget,
    /// The same, with links.
    written: PathBuf,
}

impl ResolvedPath {
    /// Returns whether the path itself is a link, and not only a folder on the way.
    pub(super) fn is_link(&self) -> bool {
        let (Some(folder), Some(name)) = (self.written.parent(), self.written.file_name()) else {
            return false;
        };
        goose_fs::resolve(folder).is_ok_and(|folder| folder.join(name) != self.target.path)
    }
}

/// As it was given.
impl fmt::Display for ResolvedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

impl Developer {
    /// The place that a path in an argument names.
    ///
    /// # Errors
    ///
    /// Fails if it can be no path, or it is not clear where it leads.
    pub(super) fn resolve_path(&self, given: &str, context: &CallContext) -> ToolResult<ResolvedPath> {
        resolve_path(given, context, self.home.as_deref())
    }
}

/// The place that a path in an argument names; `~` is the given home.
///
/// # Errors
///
/// Fails if it can be no path, or it is not clear where it leads.
pub(crate) fn resolve_path(
    given: &str,
    context: &CallContext,
    home: Option<&Path>,
) -> ToolResult<ResolvedPath> {
    let written = absolute(given, context.working_dir(), home)?;
    let target = match context.judged_paths() {
        Some(judged) => match judged.iter().find(|path| path.given == given).map(|path| &path.target) {
            Some(Ok(target)) => target.clone(),
            Some(Err(reason)) => return Err(unusable(given, reason)),
            None => return Err(unusable(given, "the permissions did not look at it")),
        },
        None => {
            let path = goose_fs::resolve(&written).map_err(|error| io_failed("look at", given, &error))?;
            FileTarget { path, hard_links: HardLinks::Allowed }
        }
    };
    Ok(ResolvedPath { given: given.to_owned(), target, written })
}

fn unusable(given: &str, reason: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "{given} was not used: {reason}. Look at it with `ls -la` in the shell, and name the real file."
    ))
}

fn absolute(given: &str, folder: &Path, home: Option<&Path>) -> ToolResult<PathBuf> {
    let quoted = goose_fs::head_chars(given, MAX_QUOTED_CHARS);
    if given.trim() != given {
        return Err(ToolError::ExecutionError(format!(
            "The path has blanks at its ends: {quoted:?}. Nothing was done. Give it without them; for a file whose name has \
             such blanks, use the shell."
        )));
    }
    if given.contains(char::is_control) {
        return Err(ToolError::ExecutionError(format!(
            "The path has a line end or another control character in it: {quoted:?}. Nothing was done. Give one path; for a file \
             whose name has such characters, use the shell."
        )));
    }
    if given.is_empty() || given.len() > MAX_PATH_BYTES {
        return Err(ToolError::ExecutionError(format!(
            "This is not a path: {quoted:?}. Give the path of a file or folder, relative to the working folder or absolute."
        )));
    }
    Ok(match (given.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => folder.join(given),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_absolute_or_at_home() {
        let at = |given| absolute(given, Path::new("/work"), Some(Path::new("/home/me"))).unwrap();
        assert_eq!(at("a/b.rs"), Path::new("/work/a/b.rs"));
        assert_eq!(at("/etc/x"), Path::new("/etc/x"));
        assert_eq!(at("~"), Path::new("/home/me"));
        assert_eq!(at("~/a"), Path::new("/home/me/a"));
        assert_eq!(at("~you/a"), Path::new("/work/~you/a"));
        let blanks = ["", " ", " /etc/x", "/etc/x ", "\t~/a", "a\n", "a\nb", "a\tb", "\u{a0}a"];
        for bad in blanks.into_iter().chain(["a\0b", &"x".repeat(MAX_PATH_BYTES + 1)]) {
            assert!(absolute(bad, Path::new("/"), None).is_err(), "{bad:?}");
        }
    }
}
