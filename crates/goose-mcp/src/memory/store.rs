//! The work of the tools: plain functions over folders. They block, see [`super`].

use std::{fmt::Write as _, path::Path};

use goose_extension::{ToolError, ToolResult};

use super::{
    entry::{self, Category, Entry, Located, Selection, tidy},
    folder::{Folder, Locked, MAX_FILE_BYTES},
    page::{self, Page},
    search::{self, Query, Scan},
};

/// Adds an entry to a category and says so.
///
/// # Errors
///
/// Fails if it cannot be written, or the category is full.
pub(super) fn remember(folder: &Folder, category: &Category, entry: &Entry) -> ToolResult<String> {
    let locked = Locked::new(folder)?;
    let file = folder.read(category)?;
    if file.is_none() {
        category.check_new()?;
    }
    let bytes = file.unwrap_or_default();
    let entries = entry::parse(&bytes);
    let place = place(folder, category);
    if entries.iter().any(|known| known.entry == *entry) {
        return Ok(format!("This is already remembered, word for word, in {place}; nothing was changed."));
    }
    let file = entry::append(&bytes, entry);
    if file.len() > MAX_FILE_BYTES {
        return Err(ToolError::ExecutionError(format!(
            "There is no room for it: {place} would grow beyond {} MiB. Use another category, or remove what is no \
             longer true.",
            MAX_FILE_BYTES >> 20
        )));
    }
    locked.replace(category, &file)?;
    let tags =
        if entry.tags.is_empty() { String::new() } else { format!(", tags: {}", entry.tags.join(", ")) };
    Ok(format!("Remembered in {place} ({}{tags}).", page::entries(entries.len() + 1)))
}

/// The entries of one category or of all, oldest first.
///
/// # Errors
///
/// Fails if the category, or the folder, cannot be read.
pub(super) fn retrieve(
    folder: &Folder,
    selection: &Selection,
    offset: usize,
    limit: usize,
) -> ToolResult<Page> {
    let scan = Scan::read(folder, selection)?;
    let mut page = Page::fill(scan.found, offset, limit);
    if page.total == 0 {
        page.add_note(&nothing(folder, selection));
    } else if page.more > 0 {
        page.add_note(&format!(
            "There are {} more: call again with offset {}, or better, look for what you need with search_memories.",
            page.more,
            offset + page.len()
        ));
    }
    scan.notes.iter().for_each(|note| page.add_note(note));
    Ok(page)
}

/// The entries of several folders that fit a query, best first.
///
/// # Errors
///
/// Fails if the only folder, or the category that was asked for in it, cannot be read. Of several folders, one that
/// cannot be read is a note.
pub(super) fn search(
    folders: &[Folder],
    selection: &Selection,
    query: &Query,
    limit: usize,
) -> ToolResult<Page> {
    let mut all = Scan::default();
    for folder in folders {
        match Scan::read(folder, selection) {
            Ok(scan) => all.extend(scan),
            Err(error) if folders.len() == 1 => return Err(error),
            Err(error) => all.notes.push(error.to_string()),
        }
    }
    let searched = all.found.len();
    let mut page = Page::fill(query.rank(all.found), 0, limit);
    if page.total == 0 {
        page.add_note(&format!("None of {} fits.", page::entries(searched)));
        folders.iter().for_each(|folder| page.add_note(&page::sentence(folder)));
        page.add_note("Try other words, fewer tags, or no category.");
    } else if page.more > 0 {
        page.add_note(&format!("{} more fit less well: use more specific words to see them.", page.more));
    }
    all.notes.iter().for_each(|note| page.add_note(note));
    Ok(page)
}

/// Removes one category or all of them, and says what is gone.
///
/// # Errors
///
/// Fails if there is nothing to remove, or it cannot be removed.
pub(super) fn remove_categories(folder: &Folder, selection: &Selection) -> ToolResult<String> {
    let is_there = match selection {
        Selection::One(category) => folder.read(category)?.is_some(),
        Selection::All => !folder.categories()?.categories.is_empty(),
    };
    if !is_there {
        return Err(ToolError::ExecutionError(format!(
            "Nothing was removed. {}",
            nothing(folder, selection)
        )));
    }
    let locked = Locked::new(folder)?;
    match selection {
        Selection::One(category) => {
            let count = entry::parse(&folder.read(category)?.unwrap_or_default()).len();
            let linked = locked.remove(category)?;
            let answer = format!("Removed {} with {}.", place(folder, category), page::entries(count));
            Ok(match linked {
                Some(file) => format!("{answer} {}", left_behind(&file)),
                None => answer,
            })
        }
        Selection::All => remove_all(folder, &locked),
    }
}

fn remove_all(folder: &Folder, locked: &Locked<'_>) -> ToolResult<String> {
    let listing = folder.categories()?;
    let mut removed: Vec<String> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    let mut kept: Vec<String> = Vec::new();
    for category in &listing.categories {
        // What cannot be read is not known to be a memory: it stays.
        match folder.read(category).and_then(|_| locked.remove(category)) {
            Ok(linked) => {
                removed.push(page::quote_name(category.as_str()));
                kept.extend(linked.map(|file| left_behind(&file)));
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    let scope = folder.scope.name();
    let mut answer = format!("Removed {} of the {scope} memory.", page::categories(&removed));
    if !kept.is_empty() {
        let _ = write!(answer, " {}", page::few(&kept));
    }
    if listing.is_cut {
        answer.push_str(" There are more: call again to remove them too.");
    }
    if failures.is_empty() {
        return Ok(answer);
    }
    Err(ToolError::ExecutionError(format!("{answer} The rest is still there. {}", page::few(&failures))))
}

fn left_behind(file: &Path) -> String {
    format!("Only a link was removed: {} is still there.", file.display())
}

/// Removes the entry whose text is `content`, and says so.
///
/// # Errors
///
/// Fails if there is no such entry; the message shows the ones that come near.
pub(super) fn remove_entry(
    folder: &Folder,
    other: &Folder,
    category: &Category,
    content: &str,
) -> ToolResult<String> {
    let content = tidy(content);
    if folder.read(category)?.is_none() {
        let reason = nothing(folder, &Selection::One(category.clone()));
        return Err(not_found(other, category, &content, &reason));
    }
    let locked = Locked::new(folder)?;
    let bytes = folder.read(category)?.unwrap_or_default();
    let entries = entry::parse(&bytes);
    let matching: Vec<&Located> =
        entries.iter().filter(|located| located.entry.data.trim() == content.trim()).collect();
    let Some(first) = matching.first() else {
        drop(locked);
        let reason = search::explain_missing(&place(folder, category), &content, &entries);
        return Err(not_found(other, category, &content, &reason));
    };
    let rest = entry::cut(&bytes, first);
    let is_linked = folder.locate(category)?.is_some_and(|file| file.is_linked);
    if rest.trim_ascii().is_empty() && !is_linked {
        locked.remove(category)?;
    } else {
        locked.replace(category, &rest)?;
    }
    let left = page::entries(entries.len() - 1);
    let place = place(folder, category);
    Ok(match matching.len() {
        1 => format!("Removed it from {place}; {left} left."),
        same => format!(
            "Removed one of {same} identical entries from {place}; {left} left. Call again to remove the next one."
        ),
    })
}

fn not_found(other: &Folder, category: &Category, content: &str, reason: &str) -> ToolError {
    let elsewhere = matches!(other.read(category), Ok(Some(bytes))
        if entry::parse(&bytes).iter().any(|located| located.entry.data.trim() == content.trim()));
    let scope = other.scope.name();
    let hint = elsewhere
        .then(|| format!(" It is in the {scope} memory: call again with the other value of `is_global`."));
    let hint = hint.unwrap_or_default();
    ToolError::ExecutionError(format!("Nothing was removed. {reason}{hint}"))
}

/// That there is nothing, and what there is instead.
fn nothing(folder: &Folder, selection: &Selection) -> String {
    match selection {
        Selection::One(category) if !matches!(folder.read(category), Ok(Some(_))) => {
            let scope = folder.scope.name();
            format!("There is no category `{category}` in the {scope} memory. {}", page::sentence(folder))
        }
        Selection::One(category) => format!("There is nothing in {}.", place(folder, category)),
        Selection::All => page::sentence(folder),
    }
}

fn place(folder: &Folder, category: &Category) -> String {
    format!("category `{category}` of the {} memory", folder.scope.name())
}
