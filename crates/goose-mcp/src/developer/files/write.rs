//! `write`: makes a file, or gives one new content.

use std::sync::Arc;

use goose_extension::{Backend, FileRead, FileVersion, prelude::*};

use super::{
    super::{Developer, blocking, resolve_path::ResolvedPath},
    change::Change,
    encoding::Encoding,
    matching::LineEnd,
    open::{look, replace},
};

impl Developer {
    /// Create a file with its folders, or overwrite one. Returns the line count. Fails if it exists and you have not read it.
    #[tool(group = "edit", destructive, idempotent, open_world = false)]
    pub(in super::super) async fn write(
        &self,
        /// File to write
        path: &str,
        /// All of its text
        content: String,
        /// `false` fails if it exists, default true
        overwrite: Option<bool>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.resolve_path(path, context)?;
        let (backend, changes) = (self.backend(context), Arc::clone(&self.changes));
        let is_done = backend.keeps_changes();
        let session = context.session_id().unwrap_or_default();
        let is_seen = self.seen.has(session, &place.target.path);
        let (place, written) = blocking(move || {
            let _turn = changes.lock();
            if overwrite == Some(false) {
                must_be_new(&*backend, &place)?;
            } else if !is_seen {
                must_not_be_lost(&*backend, &place, &content)?;
            }
            let written = write_file(&*backend, &place, &content)?;
            Ok((place, written))
        })
        .await?;
        if is_done {
            self.seen.note(session, &place.target.path);
        }
        if let Some(change) = &written.change {
            change.show(&place.given, context);
        }
        Ok(written.message)
    }
}

struct Written {
    message: String,
    /// The change, if it can be shown.
    change: Option<Change>,
}

fn must_be_new(backend: &dyn Backend, place: &ResolvedPath) -> ToolResult<()> {
    match look(backend, place)? {
        FileRead::Missing => Ok(()),
        FileRead::Content { .. } | FileRead::TooLarge { .. } => Err(ToolError::ExecutionError(format!(
            "{place} is there already, and was left as it is. Read it first, then change it with `edit`; to make another file, use \
             another name."
        ))),
    }
}

/// Refuses to replace content that the session has not seen, unless nothing of it would be lost.
fn must_not_be_lost(backend: &dyn Backend, place: &ResolvedPath, content: &str) -> ToolResult<()> {
    match look(backend, place)? {
        FileRead::Missing => Ok(()),
        FileRead::Content { bytes, .. } if bytes.is_empty() || bytes == content.as_bytes() => Ok(()),
        FileRead::Content { .. } | FileRead::TooLarge { .. } => Err(ToolError::ExecutionError(format!(
            "{place} exists, and this session has not seen what is in it, so it was left as it is. Look at it with `read` first; then \
             `edit` changes a part, and `write` replaces all of it."
        ))),
    }
}

fn write_file(backend: &dyn Backend, place: &ResolvedPath, content: &str) -> ToolResult<Written> {
    if place.given.ends_with('/') {
        return Err(ToolError::ExecutionError(format!(
            "{place} names a folder, so nothing was written. Name a file in it; folders are made with it."
        )));
    }
    match look(backend, place)? {
        FileRead::Content { bytes, version } => write_over(backend, place, &bytes, &version, content),
        FileRead::Missing => {
            replace(backend, place, content.as_bytes(), None)?;
            Ok(Written {
                message: format!("Created {place} ({})", line_count(content)),
                change: Some(Change::new(&place.given, "", content)),
            })
        }
        FileRead::TooLarge { size, version } => {
            replace(backend, place, content.as_bytes(), Some(&version))?;
            let lines = line_count(content);
            let message = format!("Wrote {place} ({lines}) in place of {size} bytes");
            Ok(Written { message, change: None })
        }
    }
}

/// Returns the number of lines in words.
fn line_count(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

fn write_over(
    backend: &dyn Backend,
    place: &ResolvedPath,
    old: &[u8],
    version: &FileVersion,
    content: &str,
) -> ToolResult<Written> {
    let known = Encoding::decode(old.to_vec());
    let (bytes, note) = match &known {
        Some((text, encoding)) => encoded(content, text, *encoding),
        None => (content.as_bytes().to_vec(), String::new()),
    };
    if bytes == old {
        return Ok(Written { message: format!("{place} had this content already"), change: None });
    }
    replace(backend, place, &bytes, Some(version))?;
    let Some((text, encoding)) = known else {
        let message = format!("Wrote {place} in place of {} bytes that were no text", old.len());
        return Ok(Written { message, change: None });
    };
    let change = Change::new(&place.given, &encoding.shown(&text), content);
    let message = format!("Wrote {place} ({}){note}", change.counts());
    Ok(Written { message, change: Some(change) })
}

/// The content as the file has been written down so far, and what there is to say where that cannot be.
fn encoded(content: &str, old: &str, encoding: Encoding) -> (Vec<u8>, String) {
    let ends = if content.contains("\r\n") { LineEnd::Lf } else { LineEnd::most_common(old) };
    let content = ends.apply(content);
    let (encoding, note) = match encoding {
        Encoding::DamagedUtf8 => (sound(old), "; bytes in it that were no UTF-8 are gone"),
        encoding => (encoding, ""),
    };
    // A mark that the model has seen and repeats is not there twice.
    let content = content.strip_prefix('\u{feff}').filter(|_| encoding != Encoding::Utf8).unwrap_or(&content);
    match encoding.encode(content) {
        Ok(bytes) => (bytes, note.to_owned()),
        Err(letter) => {
            let note = format!("; it is UTF-8 now, because {} has no `{letter}`", encoding.name());
            (content.as_bytes().to_vec(), note)
        }
    }
}

/// Returns the encoding of a text that was damaged UTF-8.
fn sound(old: &str) -> Encoding {
    if old.starts_with('\u{feff}') { Encoding::Utf8WithBom } else { Encoding::Utf8 }
}
