//! [`Entry`]: one memory, and the text format of a category, read and changed as bytes.
//!
//! A file is a list of entries with blank lines between them. An entry is a line `# tag tag …`, which may be
//! missing, and one or more lines of data:
//!
//! ```text
//! # rust style
//! Prefer `?` over `unwrap`.
//!
//! The staging server is called heron.
//! ```
//!
//! # What data may contain
//!
//! Two things would be misread, so they are written in another way. Readers that know nothing of it show the
//! text with a space or a lone `#` more, and still keep the entries apart:
//!
//! | in the data | in the file |
//! | --- | --- |
//! | a line of *n* spaces, above all the empty line (*n* = 0) | *n* + 1 spaces |
//! | a first line that begins with `#`, and no tags | a line `#`, a list of no tags, before it |
//!
//! Everything else is written as it is. An entry that is only a `#` line has no data after its tags, so that
//! line *is* the data.
//!
//! # Why bytes
//!
//! People edit these files, and some contain bytes that are not UTF-8. Those are shown with replacement
//! characters, but a change never goes through that text: [`append`] adds bytes and [`cut`] takes bytes out, so
//! whatever else is in the file stays as it was, including its line ends.

use std::{fmt, ops::Range};

use goose_extension::{ToolError, ToolResult};

/// Maximum size of one memory. Larger things belong into a file that the memory names.
pub(super) const MAX_DATA_BYTES: usize = 16 * 1024;

/// Maximum number of tags of one memory.
pub(super) const MAX_TAGS: usize = 20;

/// Maximum length of a tag.
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
    /// Fails if there is nothing to remember, or more than one memory may hold.
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

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An entry and where it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) entry: Entry,
    /// Its lines, and the blank lines after them.
    span: Range<usize>,
}

/// The entries of a file, in order.
pub(super) fn parse(bytes: &[u8]) -> Vec<Located> {
    let mut entries: Vec<Located> = Vec::new();
    let mut group: Vec<&[u8]> = Vec::new();
    let mut start = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut position = start;
    for line in bytes[start..].split_inclusive(|byte| *byte == b'\n') {
        let content = without_line_end(line);
        if content.is_empty() {
            finish(&mut entries, &mut group, start..position);
            // Blank lines belong to the entry before them.
            if let Some(last) = entries.last_mut().filter(|last| last.span.end == position) {
                last.span.end += line.len();
            }
        } else {
            if group.is_empty() {
                start = position;
            }
            group.push(content);
        }
        position += line.len();
    }
    finish(&mut entries, &mut group, start..position);
    entries
}

fn finish(entries: &mut Vec<Located>, group: &mut Vec<&[u8]>, span: Range<usize>) {
    let entry = decode(group);
    group.clear();
    if !entry.data.is_empty() {
        entries.push(Located { entry, span });
    }
}

fn decode(lines: &[&[u8]]) -> Entry {
    let (tags, data) = match lines {
        [first, rest @ ..] if first.starts_with(b"#") && !rest.is_empty() => (&first[1..], rest),
        lines => (&[][..], lines),
    };
    let tags = String::from_utf8_lossy(tags).split_whitespace().map(str::to_owned).collect();
    let data: Vec<_> = data.iter().map(|line| String::from_utf8_lossy(decode_line(line))).collect();
    Entry { tags, data: tidy(&data.join("\n")) }
}

fn decode_line(line: &[u8]) -> &[u8] {
    if line.iter().all(|byte| *byte == b' ') { &line[1.min(line.len())..] } else { line }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The file with an entry added at its end.
pub(super) fn append(bytes: &[u8], entry: &Entry) -> Vec<u8> {
    let line_end = if uses_crlf(bytes) { "\r\n" } else { "\n" };
    let mut file = bytes.to_vec();
    for _ in 0..missing_line_ends(bytes) {
        file.extend_from_slice(line_end.as_bytes());
    }
    for line in encode(entry) {
        file.extend_from_slice(line.as_bytes());
        file.extend_from_slice(line_end.as_bytes());
    }
    file.extend_from_slice(line_end.as_bytes());
    file
}

/// The file without an entry. All other bytes stay.
pub(super) fn cut(bytes: &[u8], located: &Located) -> Vec<u8> {
    [&bytes[..located.span.start], &bytes[located.span.end..]].concat()
}

fn encode(entry: &Entry) -> Vec<String> {
    let mut lines = Vec::new();
    if !entry.tags.is_empty() {
        lines.push(format!("# {}", entry.tags.join(" ")));
    } else if entry.data.starts_with('#') {
        lines.push("#".to_owned());
    }
    lines.extend(entry.data.split('\n').map(encode_line));
    lines
}

fn encode_line(line: &str) -> String {
    if line.bytes().all(|byte| byte == b' ') { format!("{line} ") } else { line.to_owned() }
}

fn uses_crlf(bytes: &[u8]) -> bool {
    let first_end = bytes.iter().position(|byte| *byte == b'\n');
    first_end.is_some_and(|end| end > 0 && bytes[end - 1] == b'\r')
}

/// Returns the number of line ends until the file ends in a blank line. An empty file needs none.
fn missing_line_ends(bytes: &[u8]) -> usize {
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    match lines.next_back() {
        None => 0,
        Some(last) if !last.ends_with(b"\n") => 2,
        Some(last) if without_line_end(last).is_empty() => 0,
        Some(_) => 1,
    }
}

/// The extension of a category's file.
pub(super) const EXTENSION: &str = ".txt";

/// Maximum length of a name: the limit of file systems (255 bytes), less the extension.
const MAX_CATEGORY_BYTES: usize = 251;

/// Characters of a refused name that an error quotes.
const MAX_QUOTE_CHARS: usize = 60;

/// Device names that Windows keeps for itself, with any extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The same, when a digit follows.
const RESERVED_NUMBERED: [&str; 2] = ["com", "lpt"];

/// The reason for refusing those.
const DEVICE: &str = "Windows reserves this name for a device";

/// The name of one category.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Category(String);

impl Category {
    /// Checks a name.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the name and what a category may look like.
    pub(super) fn parse(name: &str) -> ToolResult<Self> {
        match problem(name) {
            None => Ok(Self(name.to_owned())),
            Some(problem) => Err(refused(name, problem)),
        }
    }

    /// The category of a file in a memory folder, where it is one.
    pub(super) fn of_file(file_name: &str) -> Option<Self> {
        let name = file_name.strip_suffix(EXTENSION)?;
        problem(name).is_none().then(|| Self(name.to_owned()))
    }

    /// Refuses a name that a file could not have everywhere. What is there already may be called so.
    ///
    /// # Errors
    ///
    /// As [`Category::parse`].
    pub(super) fn check_new(&self) -> ToolResult<()> {
        if is_reserved(&self.0) { Err(refused(&self.0, DEVICE)) } else { Ok(()) }
    }

    /// The file, within its folder.
    pub(super) fn file_name(&self) -> String {
        format!("{}{EXTENSION}", self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The categories that a call selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    /// A single category.
    One(Category),
    /// All categories of a folder, written `*`.
    All,
}

impl Selection {
    /// Checks a name; `*` stands for all.
    ///
    /// # Errors
    ///
    /// As [`Category::parse`].
    pub(super) fn parse(name: &str) -> ToolResult<Self> {
        if name == "*" { Ok(Self::All) } else { Category::parse(name).map(Self::One) }
    }
}

fn problem(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("it is empty")
    } else if name.len() > MAX_CATEGORY_BYTES {
        Some("it is too long")
    } else if name == "*" {
        Some("`*` stands for all categories, and this needs a single one")
    } else if name.starts_with('.') {
        Some("it begins with a dot")
    } else if name.contains(['/', '\\']) {
        Some("it contains a slash, and a category is not a path")
    } else if name.chars().any(char::is_control) {
        Some("it contains a control character")
    } else if cfg!(windows) && name.contains(['<', '>', ':', '"', '|', '?', '*']) {
        Some("it contains a character that file names on Windows cannot have")
    } else if cfg!(windows) && is_reserved(name) {
        Some(DEVICE)
    } else {
        None
    }
}

/// Windows looks only at what stands before the first dot, and ignores case and trailing spaces.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    RESERVED.contains(&stem.as_str())
        || RESERVED_NUMBERED.iter().any(|device| stem.strip_prefix(device).is_some_and(is_one_digit))
}

fn is_one_digit(text: &str) -> bool {
    let mut chars = text.chars();
    let digit = matches!(chars.next(), Some('0'..='9' | '¹' | '²' | '³'));
    digit && chars.next().is_none()
}

fn refused(name: &str, problem: &str) -> ToolError {
    let quoted: String = name.chars().take(MAX_QUOTE_CHARS).collect();
    let dots = if quoted.len() < name.len() { "…" } else { "" };
    ToolError::ExecutionError(format!(
        "The category name {quoted:?}{dots} cannot be used: {problem}. A category is a plain name of up to \
         {MAX_CATEGORY_BYTES} bytes, without slashes, control characters or a leading dot; for example \
         `preferences` or `release process`. Call again with such a name."
    ))
}
