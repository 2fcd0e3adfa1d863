//! `read`: shows a file: its lines with their numbers, or a picture.

use std::fmt::Write as _;

use goose_extension::{Backend, ContentBlock, FIRST_LINE, LAST_LINE, TOTAL_LINES, image_type, prelude::*};
use serde_json::json;

use super::{
    super::{Developer, blocking, resolve_path::ResolvedPath},
    encoding::Encoding,
    open::open,
};

/// Default number of lines shown.
const DEFAULT_LINES: usize = 1_000;

/// Maximum size of one answer.
const MAX_SHOWN_BYTES: usize = 48 * 1024;

/// Characters shown of one line.
const MAX_LINE_CHARS: usize = 2_000;

/// Maximum size of a picture: the limit of model providers.
const MAX_IMAGE_BYTES: usize = 3_750_000;

impl Developer {
    /// Read a file. Returns numbered lines, or an image. Fails if it is missing or not text.
    #[tool(group = "read", read_only, open_world = false)]
    pub(in super::super) async fn read(
        &self,
        /// File to read
        path: &str,
        /// First line, default 1
        #[arg(min = 1)]
        offset: Option<usize>,
        /// Lines at most, default 1000
        #[arg(min = 1)]
        limit: Option<usize>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let place = self.resolve_path(path, context)?;
        let first = offset.unwrap_or(1).max(1);
        let backend = self.backend(context);
        // Also one that cannot be shown: the answer says what it is.
        self.seen.note(context.session_id().unwrap_or_default(), &place.target.path);
        blocking(move || show(&*backend, &place, first, limit.unwrap_or(DEFAULT_LINES))).await
    }
}

fn show(backend: &dyn Backend, place: &ResolvedPath, first: usize, limit: usize) -> ToolResult<ToolOutput> {
    let bytes = open(backend, place)?.bytes;
    if let Some(kind) = image_type(&bytes) {
        return show_picture(place, bytes, kind);
    }
    let size = bytes.len();
    let Some((text, encoding)) = Encoding::decode(bytes) else {
        return Err(ToolError::ExecutionError(format!(
            "{place} is not text: {size} bytes. Look at it with a program for its format in the shell (`file`, `xxd`)."
        )));
    };
    let text = encoding.shown(&text);
    let (mut shown, last) = show_lines(place, &text, first, limit)?;
    if !matches!(encoding, Encoding::Utf8) {
        // Writing to a string cannot fail.
        let _ = write!(shown, "\n[{}]", encoding.name());
    }
    let mut output = ToolOutput::text(shown);
    let total = text.lines().count();
    output.structured = Some(json!({ FIRST_LINE: first, LAST_LINE: last, TOTAL_LINES: total }));
    Ok(output)
}

fn show_picture(place: &ResolvedPath, bytes: Vec<u8>, kind: &str) -> ToolResult<ToolOutput> {
    if bytes.len() > MAX_IMAGE_BYTES {
        return Err(ToolError::ExecutionError(format!(
            "{place} is an image of {} bytes; models see at most {MAX_IMAGE_BYTES}. Make a smaller copy in the shell first.",
            bytes.len()
        )));
    }
    Ok(ToolOutput::content([ContentBlock::from(Image::new(bytes, kind))]))
}

fn show_lines(place: &ResolvedPath, text: &str, first: usize, limit: usize) -> ToolResult<(String, usize)> {
    let total = text.lines().count();
    if total == 0 {
        return Ok((format!("{place} is empty"), 0));
    }
    if first > total {
        return Err(ToolError::ExecutionError(format!(
            "{place} has only {total} lines; line {first} is beyond its end."
        )));
    }
    let mut shown = String::new();
    let mut last = first - 1;
    for line in text.lines().skip(first - 1).take(limit) {
        let line = numbered(last + 1, line);
        if !shown.is_empty() && shown.len() + line.len() > MAX_SHOWN_BYTES {
            break;
        }
        shown.push_str(&line);
        last += 1;
    }
    if last < total {
        let _ = write!(shown, "[lines {first}-{last} of {total}; go on with offset {}]", last + 1);
    }
    Ok((shown.trim_end_matches('\n').to_owned(), last))
}

fn numbered(number: usize, line: &str) -> String {
    let head = goose_fs::head_chars(line, MAX_LINE_CHARS);
    match line.len() - head.len() {
        0 => format!("{number}\t{line}\n"),
        more => format!("{number}\t{head}… ({more} more bytes)\n"),
    }
}
