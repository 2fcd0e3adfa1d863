//! `edit`: replaces text in a file, exactly and all or nothing.

use std::sync::Arc;

use goose_extension::{Backend, prelude::*};

use super::{
    super::{Developer, blocking, resolve_path::ResolvedPath},
    change::Change,
    encoding::Encoding,
    explain::explain,
    matching::{Mismatch, Places, Replacement},
    open::{Opened, open, replace},
    renamed::{renamed, still_in},
};

/// Maximum number of replacements of one call.
const MAX_EDITS: usize = 100;

/// The message for a place that cannot be named.
const DAMAGED: &str = "a \u{FFFD} in `before` stands for a byte that is no UTF-8, and cannot be written. Give only text \
                       before or behind it; to repair the byte, use a program in the shell (`xxd`, `sed`, `iconv`).";

// One of several replacements. (A doc comment would be sent to the model.)
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(in super::super) struct Edit {
    #[schemars(description = "Text to replace")]
    before: String,
    #[schemars(description = "New text")]
    after: String,
}

impl Developer {
    /// Replace text in a file. Returns the changed lines. Fails if `before` is not there exactly once.
    #[tool(group = "edit", destructive, open_world = false)]
    pub(in super::super) async fn edit(
        &self,
        /// File to edit
        path: &str,
        /// Text to replace, unless `edits`
        before: Option<String>,
        /// New text, unless `edits`
        after: Option<String>,
        /// All places, default false
        replace_all: Option<bool>,
        /// Several instead of `before`, all or none
        #[arg(max_items = MAX_EDITS)]
        edits: Option<Vec<Edit>>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.resolve_path(path, context)?;
        let edits = all_edits(before, after, edits)?;
        let places = if replace_all == Some(true) { Places::All } else { Places::One };
        let (backend, changes) = (self.backend(context), Arc::clone(&self.changes));
        let is_done = backend.keeps_changes();
        let session = context.session_id().unwrap_or_default();
        let (mut files, folder) = (self.seen.files(session), context.working_dir().to_owned());
        files.insert(place.target.path.clone());
        let (place, change, left) = blocking(move || {
            let _turn = changes.lock();
            let change = edit_file(&*backend, &place, &edits, places)?;
            let renamed = edits.iter().find_map(|edit| renamed(&edit.before, &edit.after));
            let left = renamed.and_then(|word| still_in(&*backend, word, &files, &folder));
            Ok((place, change, left))
        })
        .await?;
        if is_done {
            self.seen.note(session, &place.target.path);
        }
        change.show(&place.given, context);
        let left = left.map(|left| format!("\n{left}")).unwrap_or_default();
        Ok(format!("Edited {place} ({})\n{}{left}", change.counts(), change.brief()))
    }
}

/// The replacements that a call asks for, in their order.
fn all_edits(
    before: Option<String>,
    after: Option<String>,
    edits: Option<Vec<Edit>>,
) -> ToolResult<Vec<Edit>> {
    let single = match (before, after) {
        (Some(before), Some(after)) => Some(Edit { before, after }),
        (None, None) => None,
        _ => {
            return Err(
                "`before` and `after` belong together: give both. To remove text, `after` is \"\".".into()
            );
        }
    };
    let all: Vec<Edit> = single.into_iter().chain(edits.unwrap_or_default()).collect();
    if all.is_empty() {
        return Err("There is nothing to change: give `before` and `after`, or `edits`.".into());
    }
    Ok(all)
}

fn edit_file(
    backend: &dyn Backend,
    place: &ResolvedPath,
    edits: &[Edit],
    places: Places,
) -> ToolResult<Change> {
    let Opened { bytes, version } = open(backend, place)?;
    let Some((text, encoding)) = Encoding::decode(bytes) else { return Err(not_text(place)) };
    if let Some(letter) = edits.iter().flat_map(|edit| edit.after.chars()).find(|it| !encoding.takes(*it)) {
        return Err(unwritable(place, encoding, letter));
    }
    let mut changed = text.clone();
    for (number, edit) in edits.iter().enumerate() {
        let replacement = Replacement { before: &edit.before, after: &edit.after };
        changed = replacement.apply(&changed, places).map_err(|mismatch| {
            let which = (edits.len() > 1).then(|| format!(" (edit {} of {})", number + 1, edits.len()));
            let which = which.unwrap_or_default();
            let reason = match mismatch {
                Mismatch::Missing if names_damage(edit, encoding) => DAMAGED.to_owned(),
                _ => explain(&mismatch, &replacement, &encoding.shown(&changed)),
            };
            ToolError::ExecutionError(format!("{place} was not changed{which}: {reason}"))
        })?;
    }
    if changed == text {
        return Err(undone(place));
    }
    let bytes = encoding.encode(&changed).map_err(|letter| unwritable(place, encoding, letter))?;
    replace(backend, place, &bytes, Some(&version))?;
    Ok(Change::new(&place.given, &encoding.shown(&text), &encoding.shown(&changed)))
}

/// Returns whether the text to look for has the sign that damaged bytes are shown as.
fn names_damage(edit: &Edit, encoding: Encoding) -> bool {
    encoding == Encoding::DamagedUtf8 && edit.before.contains(char::REPLACEMENT_CHARACTER)
}

fn undone(place: &ResolvedPath) -> ToolError {
    ToolError::ExecutionError(format!(
        "{place} was not changed: the edits undo each other. They are made one after the other; leave out those that are not \
         wanted."
    ))
}

fn not_text(place: &ResolvedPath) -> ToolError {
    ToolError::ExecutionError(format!(
        "{place} is not a text file, so it was not changed. Use a program for its format in the shell."
    ))
}

fn unwritable(place: &ResolvedPath, encoding: Encoding, letter: char) -> ToolError {
    ToolError::ExecutionError(format!(
        "{place} was not changed: it is encoded as {}, which has no `{letter}`. Use other characters, or write the whole \
         file with `write`, which makes it UTF-8.",
        encoding.name()
    ))
}
