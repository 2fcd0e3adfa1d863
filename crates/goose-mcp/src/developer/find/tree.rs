//! `tree`: what is in a folder.

use std::{fmt::Write as _, path::Path};

use goose_extension::prelude::*;
use ignore::DirEntry;

use super::walk::{Walk, must_be_there};
use crate::developer::{Developer, blocking};

const DEFAULT_DEPTH: usize = 2;
/// Deeper trees are not for reading.
const MAX_DEPTH: usize = 16;
/// How many lines are shown.
const MAX_LINES: usize = 600;

impl Developer {
    /// List a folder as a tree, without what git ignores.
    #[tool(group = "read", read_only, open_world = false)]
    pub(in crate::developer) async fn tree(
        &self,
        /// Folder
        path: &str,
        /// Levels, default 2
        depth: Option<usize>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.resolve_path(path, context)?;
        let depth = depth.unwrap_or(DEFAULT_DEPTH).clamp(1, MAX_DEPTH);
        self.local_files(context)?;
        let walk = Walk::of(context);
        blocking(move || {
            let folder = must_be_there(&place)?;
            if !folder.is_dir() {
                return Err(ToolError::ExecutionError(format!(
                    "`{}` is no folder. Use `read` to see what is in a file.",
                    place.given
                )));
            }
            Ok(render(&folder, depth, &walk))
        })
        .await
    }
}

fn render(folder: &Path, depth: usize, walk: &Walk) -> String {
    let entries =
        Walk::builder(folder).hidden(false).max_depth(Some(depth)).sort_by_file_name(Ord::cmp).build();
    let mut shown = String::new();
    let mut left_out = 0_usize;
    let mut lines = 0;
    for entry in entries {
        if !walk.goes_on() {
            break;
        }
        let Ok(entry) = entry else {
            walk.miss();
            continue;
        };
        if entry.depth() == 0 {
            continue;
        }
        if lines < MAX_LINES {
            let _ = writeln!(shown, "{}", line(&entry, depth));
            lines += 1;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(shown, "[{left_out} more. Name a folder below, or a smaller depth.]");
    }
    shown.extend(walk.remark());
    if shown.is_empty() { "(empty)".to_owned() } else { shown }
}

fn line(entry: &DirEntry, depth: usize) -> String {
    let indent = "  ".repeat(entry.depth() - 1);
    let name = entry.file_name().to_string_lossy();
    match entry.file_type() {
        Some(kind) if kind.is_dir() => {
            let more = if entry.depth() == depth { inside(entry.path()) } else { String::new() };
            format!("{indent}{name}/{more}")
        }
        Some(kind) if kind.is_symlink() => {
            let target = entry.path().read_link().map(|target| target.display().to_string());
            format!("{indent}{name} -> {}", target.unwrap_or_default())
        }
        _ => format!("{indent}{name}{}", size(entry)),
    }
}

/// How much is in a folder that is not opened.
fn inside(folder: &Path) -> String {
    match folder.read_dir().map(|entries| entries.take(MAX_LINES).count()) {
        Ok(0) | Err(_) => String::new(),
        Ok(MAX_LINES) => format!("  ({MAX_LINES}+)"),
        Ok(count) => format!("  ({count})"),
    }
}

/// A file's size, where it is worth knowing before it is read.
fn size(entry: &DirEntry) -> String {
    const KIB: u64 = 1024;
    match entry.metadata().map(|metadata| metadata.len()) {
        Ok(bytes) if bytes >= KIB * KIB => format!("  {} MiB", bytes / (KIB * KIB)),
        Ok(bytes) if bytes >= 8 * KIB => format!("  {} KiB", bytes / KIB),
        _ => String::new(),
    }
}
