//! [`Entry`]: one memory, in the form it has everywhere except on disk.

use goose_extension::{ToolError, ToolResult};

/// How large one memory may be. Larger things belong into a file that the memory names.
pub(super) const MAX_DATA_BYTES: usize = 16 * 1024;

/// How many tags one memory may have.
pub(super) const MAX_TAGS: usize = 20;

/// How long a tag may be.
pub(super) const MAX_TAG_BYTES: usize = 64;

/// One memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Words to find it by. None contains white space.
    pub(super) tags: Vec<String>,
    /// The text, see [`tidy`].
    pub(super) data: String,
}

impl Entry {
    /// A memory from what a model passed.
    ///
    /// # Errors
    ///
    /// Where there is nothing to remember, or more than one memory may hold.
    pub(super) fn new(data: &str, tags: &[String]) -> ToolResult<Self> {
        let data = tidy(data);
        if data.is_empty() {
            return Err(ToolError::execution(
                "There is nothing to remember: `data` is empty. Call again with the text in `data`.",
            ));
        }
        if data.len() > MAX_DATA_BYTES {
            return Err(ToolError::ExecutionError(format!(
                "`data` has {} bytes, and one memory holds at most {MAX_DATA_BYTES}. Remember a summary, or split \
                 it into several memories; a long text belongs into a file whose path you remember.",
                data.len()
            )));
        }
        Ok(Self { tags: clean_tags(tags)?, data })
    }
}

/// The text without what a memory does not keep: kinds of line ends (all become `\n`), blank lines before it
/// and white space after it. Tidying twice changes nothing more.
pub(super) fn tidy(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = text.trim_end();
    loop {
        let bare = rest.trim_start_matches('\u{feff}');
        match bare.split_once('\n') {
            Some((first, after)) if first.trim().is_empty() => rest = after,
            _ => return bare.to_owned(),
        }
    }
}

/// A tag as it is stored: one word, without the `#` that some write before it.
pub(super) fn clean_tag(tag: &str) -> String {
    let is_gap = |char: char| char.is_whitespace() || char.is_control();
    let bare = tag.trim_start_matches(|char| char == '#' || is_gap(char));
    bare.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

fn clean_tags(tags: &[String]) -> ToolResult<Vec<String>> {
    let mut cleaned: Vec<String> = Vec::new();
    for tag in tags.iter().map(|tag| clean_tag(tag)) {
        if tag.len() > MAX_TAG_BYTES {
            return Err(ToolError::ExecutionError(format!(
                "A tag is longer than {MAX_TAG_BYTES} bytes. Use short words as tags, and put the rest into `data`."
            )));
        }
        if tag.is_empty() || cleaned.contains(&tag) {
            continue;
        }
        if cleaned.len() == MAX_TAGS {
            return Err(ToolError::ExecutionError(format!(
                "{} tags are too many: a memory has at most {MAX_TAGS}. Keep those one would search for.",
                tags.len()
            )));
        }
        cleaned.push(tag);
    }
    Ok(cleaned)
}
