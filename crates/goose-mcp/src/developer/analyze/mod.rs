//! `analyze`: a map of code. The outline of a file, an overview of a folder, or who calls a symbol and whom it calls.
//!
//! - `language`: what is understood; `parser_guard`: what of a file its parser may get; `symbols`: what a file defines
//!   and calls;
//!   `code`: all files of a folder;
//! - `overview` (also the outline of a file), `focus`: the maps.

mod code;
mod focus;
mod language;
mod overview;
mod parser_guard;
mod symbols;

use goose_extension::prelude::*;
use goose_fs::truncate_lines;

use self::{code::Code, language::Grammar, symbols::Symbols};
use super::{
    Developer, blocking,
    files::check_readable,
    find::{Root, Walk},
};

const DEFAULT_DEPTH: usize = 3;
const DEFAULT_FOLLOW: usize = 2;
const MAX_FOLLOW: usize = 5;
/// Maximum size of an answer.
const MAX_BYTES: usize = 32 * 1024;
/// Maximum size of an answer with `force`.
const MAX_FORCED_BYTES: usize = 256 * 1024;

impl Developer {
    /// Map code. Returns a file's outline, a folder's overview, or with `focus` who calls a symbol and what it calls. Fails
    /// if language or symbol is unknown.
    #[tool(group = "read", read_only, open_world = false)]
    pub(super) async fn analyze(
        &self,
        /// File or folder
        path: &str,
        /// A symbol's name, default none
        focus: Option<&str>,
        /// Folder levels, default 3
        max_depth: Option<usize>,
        /// Call levels, default 2
        follow_depth: Option<usize>,
        /// Up to 256 KiB instead of 32
        force: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.resolve_path(path, context)?;
        let focus = focus.map(str::to_owned).filter(|focus| !focus.trim().is_empty());
        let depth = max_depth.unwrap_or(DEFAULT_DEPTH);
        let follow = follow_depth.unwrap_or(DEFAULT_FOLLOW).min(MAX_FOLLOW);
        let (walk, backend) = (Walk::new(context), self.local_files(context)?);
        let map = blocking(move || {
            let root = Root::open(&place, walk)?;
            let map = match focus {
                Some(symbol) => focus::map(&Code::about(&root, symbol.trim()), symbol.trim(), follow)?,
                None if root.folder.is_some() => overview::overview(&Code::under(&root, Some(depth))),
                None => {
                    check_readable(&*backend, &place)?;
                    let symbols = Symbols::from_file(&root, &root.path);
                    overview::outline(&symbols.ok_or_else(|| not_understood(&place.given))?)
                }
            };
            Ok(map)
        })
        .await?;
        let (max_bytes, hint) =
            if force.unwrap_or(false) { (MAX_FORCED_BYTES, "") } else { (MAX_BYTES, "; `force` shows more") };
        Ok(truncate_lines(map, max_bytes, |_| {
            format!("[Cut here. Name a smaller folder, a file or a focus{hint}.]")
        }))
    }
}

fn not_understood(path: &str) -> ToolError {
    let languages = Grammar::names();
    ToolError::ExecutionError(format!(
        "`{path}` cannot be analyzed (supported: {languages}, up to 1 MiB, without too many syntax errors). Use `read` or `search`."
    ))
}
