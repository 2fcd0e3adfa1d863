//! `write`: makes a file, or gives one new content.

use std::sync::PoisonError;

use goose_extension::prelude::*;

use super::{
    super::{Developer, blocking, place::Place},
    change::Change,
    encoding::Encoding,
    line_ends::LineEnd,
    open::{Opened, try_open},
    replace::replace,
};

impl Developer {
    /// Create or overwrite a file with this content. Folders are made.
    #[tool(group = "edit", destructive, idempotent, open_world = false)]
    pub(in super::super) async fn write(
        &self,
        path: &str,
        content: String,
        context: &CallContext,
    ) -> ToolResult<String> {
        let place = self.place(path, context)?;
        let changes = std::sync::Arc::clone(&self.changes);
        let (place, written) = blocking(move || {
            let _turn = changes.lock().unwrap_or_else(PoisonError::into_inner);
            let written = write_file(&place, &content)?;
            Ok((place, written))
        })
        .await?;
        if let Some(change) = &written.change {
            change.show(&place.given, context);
        }
        Ok(written.message)
    }
}

struct Written {
    message: String,
    /// What changed, where that can be shown.
    change: Option<Change>,
}

fn write_file(place: &Place, content: &str) -> ToolResult<Written> {
    let Some(Opened { bytes: old, stamp }) = try_open(place)? else {
        replace(place, content.as_bytes(), None)?;
        return Ok(Written {
            message: format!("Created {} ({} lines)", place.given, content.lines().count()),
            change: Some(Change::new(&place.given, "", content)),
        });
    };
    let old_size = old.len();
    let known = Encoding::decode(old.clone());
    let (bytes, note) = match &known {
        Some((text, encoding)) => encoded(content, text, *encoding),
        None => (content.as_bytes().to_vec(), String::new()),
    };
    if bytes == old {
        return Ok(Written { message: format!("{} had this content already", place.given), change: None });
    }
    replace(place, &bytes, Some(stamp))?;
    let Some((text, _)) = known else {
        let message = format!("Wrote {} in place of {old_size} bytes that were no text", place.given);
        return Ok(Written { message, change: None });
    };
    let change = Change::new(&place.given, &text, content);
    let message = format!("Wrote {} ({}){note}", place.given, change.counts());
    Ok(Written { message, change: Some(change) })
}

/// The content as the file has been written down so far, and what there is to say where that cannot be.
fn encoded(content: &str, old: &str, encoding: Encoding) -> (Vec<u8>, String) {
    let ends = if content.contains("\r\n") { LineEnd::Lf } else { LineEnd::of(old) };
    let content = ends.apply(content);
    // A mark that the model has seen and repeats is not there twice.
    let content = content.strip_prefix('\u{feff}').filter(|_| encoding != Encoding::Utf8).unwrap_or(&content);
    match encoding.encode(content) {
        Ok(bytes) => (bytes, String::new()),
        Err(letter) => {
            let note = format!("; it is UTF-8 now, because {} has no `{letter}`", encoding.name());
            (content.as_bytes().to_vec(), note)
        }
    }
}
