//! `tree`: what is in a folder.

use std::{fmt::Write as _, io, path::Path};

use goose_extension::prelude::*;
use goose_fs::Folder;
use ignore::DirEntry;
use rustix::fs::FileType;

use super::{Root, Walk};
use crate::developer::{Developer, blocking};

const DEFAULT_DEPTH: usize = 2;
/// Deeper trees are not for reading.
const MAX_DEPTH: usize = 16;
/// Maximum number of lines shown.
const MAX_LINES: usize = 600;

impl Developer {
    /// List a folder. Returns a tree without what git ignores. Fails if it is not a folder.
    #[tool(group = "read", read_only, open_world = false)]
    pub(in crate::developer) async fn tree(
        &self,
        /// Folder to list
        path: &str,
        /// Levels, default 2
        depth: Option<usize>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.resolve_path(path, context)?;
        let depth = depth.unwrap_or(DEFAULT_DEPTH).clamp(1, MAX_DEPTH);
        self.local_files(context)?;
        let walk = Walk::new(context);
        blocking(move || {
            let root = Root::open(&place, walk)?;
            let Some(folder) = &root.folder else {
                return Err(ToolError::ExecutionError(format!(
                    "`{place}` is not a folder. Use `read` to see what is in a file."
                )));
            };
            Ok(render(&root, folder, depth))
        })
        .await
    }
}

fn render(root: &Root, folder: &Folder, depth: usize) -> String {
    let walk = &root.walk;
    let entries =
        root.walk_builder().hidden(false).max_depth(Some(depth)).sort_by_file_name(Ord::cmp).build();
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
        if lines == MAX_LINES {
            left_out += 1;
            continue;
        }
        match line(&entry, root.relative(entry.path()), folder, depth) {
            Ok(line) => {
                let _ = writeln!(shown, "{line}");
                lines += 1;
            }
            Err(_) => walk.miss(),
        }
    }
    if left_out > 0 {
        let _ = writeln!(shown, "[{left_out} more. Name a folder below, or a smaller depth.]");
    }
    shown.extend(walk.remark());
    if shown.is_empty() { "(empty)".to_owned() } else { shown }
}

fn line(entry: &DirEntry, path: &Path, root: &Folder, depth: usize) -> io::Result<String> {
    let indent = "  ".repeat(entry.depth() - 1);
    let name = entry.file_name().to_string_lossy();
    let stat = root.stat(path)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let more = if entry.depth() == depth { root.folder(path).map(inside)? } else { String::new() };
            format!("{indent}{name}/{more}")
        }
        FileType::Symlink => format!("{indent}{name} -> {}", root.read_link(path)?.display()),
        _ => format!("{indent}{name}{}", size(u64::try_from(stat.st_size).unwrap_or_default())),
    })
}

/// Returns the number of entries of a folder that is not expanded.
fn inside(folder: Folder) -> String {
    match folder.names(MAX_LINES).map(|names| names.len()) {
        Ok(0) | Err(_) => String::new(),
        Ok(MAX_LINES) => format!("  ({MAX_LINES}+)"),
        Ok(count) => format!("  ({count})"),
    }
}

/// A file's size, where it is worth knowing before it is read.
fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    match bytes {
        bytes if bytes >= KIB * KIB => format!("  {} MiB", bytes / (KIB * KIB)),
        bytes if bytes >= 8 * KIB => format!("  {} KiB", bytes / KIB),
        _ => String::new(),
    }
}
