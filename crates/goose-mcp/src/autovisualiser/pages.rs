//! [`Pages`]: the files of the pages, and the resources of an MCP client.

use std::{
    collections::VecDeque,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use goose_extension::{ContentBlock, Resource, ToolError, ToolOutput, ToolResult};
use goose_fs::{AtomicFile, create_private_dir};
use parking_lot::Mutex;
use serde_json::json;
use tempfile::TempDir;

use super::page::{MAX_PAGE_BYTES, Page, for_host};

/// Prefix of a page's URI.
const URI_PREFIX: &str = "ui://autovisualiser/";

/// MIME type of an MCP App.
pub(super) const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Folder of the pages, within the folder for long outputs.
const FOLDER: &str = "pages";

const EXTENSION: &str = "html";

/// Maximum number of files; the oldest are removed.
const MAX_FILES: usize = 200;

/// Maximum number of pages that are listed as resources.
const MAX_LISTED: usize = 50;

/// Maximum length of the title within a name, in bytes.
const MAX_SLUG_BYTES: usize = 32;

/// Returns the file of a page, by its name or URI, below the folder for long outputs. `None` for anything else.
pub fn page_file(outputs: &Path, name: &str) -> Option<PathBuf> {
    file_in(&outputs.join(FOLDER), name).filter(|file| file.is_file())
}

fn file_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let name = name.strip_prefix(URI_PREFIX).unwrap_or(name);
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_fine);
    is_name.then(|| folder.join(name).with_extension(EXTENSION))
}

/// The pages.
#[derive(Debug)]
pub(super) struct Pages {
    folder: PagesFolder,
    /// Pages of this process, oldest first.
    listed: Mutex<VecDeque<Resource>>,
}

#[derive(Debug)]
enum PagesFolder {
    Kept(PathBuf),
    /// Made with the first page, removed at the end.
    Temporary(Mutex<Option<TempDir>>),
}

/// A page that was written.
#[derive(Debug)]
pub(super) struct WrittenPage {
    pub(super) file: PathBuf,
    /// Approximate height of the page in a browser, in pixels.
    pub(super) height: u32,
    resource: Resource,
    summary: String,
    is_kept: bool,
}

impl Pages {
    /// Uses a folder within that for long outputs, or a temporary one.
    pub(super) fn new(outputs: Option<&Path>) -> Self {
        let folder = match outputs {
            Some(outputs) => PagesFolder::Kept(outputs.join(FOLDER)),
            None => PagesFolder::Temporary(Mutex::default()),
        };
        Self { folder, listed: Mutex::default() }
    }

    /// Writes a page to a file.
    pub(super) fn write(&self, page: Page) -> ToolResult<WrittenPage> {
        let (title, height) = (page.heading(), page.height());
        let (kind, summary) = (page.kind, format!("{}: {}", page.noun, page.summary));
        let html = page.html();
        if html.len() > MAX_PAGE_BYTES {
            let size = html.len();
            return Err(ToolError::execution(format!(
                "The page would have {size} bytes; at most {MAX_PAGE_BYTES} are written. Use less data."
            )));
        }
        let name = name(kind, &title, &html);
        let folder = self.folder().map_err(cannot_write)?;
        let file = folder.join(&name).with_extension(EXTENSION);
        AtomicFile::new(&file).write(html.as_bytes()).map_err(cannot_write)?;
        remove_oldest(&folder);
        let resource = Resource::new(format!("{URI_PREFIX}{name}"), name)
            .with_title(title)
            .with_description(summary.as_str())
            .with_mime_type(MIME_TYPE)
            .with_size(html.len() as u64);
        self.add(resource.clone());
        let is_kept = matches!(self.folder, PagesFolder::Kept(_));
        Ok(WrittenPage { file, height, resource, summary, is_kept })
    }

    fn add(&self, resource: Resource) {
        let mut listed = self.listed.lock();
        listed.retain(|known| known.uri != resource.uri);
        listed.push_back(resource);
        if listed.len() > MAX_LISTED {
            listed.pop_front();
        }
    }

    /// Returns the resources of this process, the newest first.
    pub(super) fn list(&self) -> Vec<Resource> {
        self.listed.lock().iter().rev().cloned().collect()
    }

    /// Returns a page for an MCP client, if there is one at this address.
    pub(super) fn read(&self, uri: &str) -> Option<String> {
        uri.starts_with(URI_PREFIX).then_some(())?;
        let file = file_in(&self.folder().ok()?, uri)?;
        let bytes = goose_fs::read_regular(&file, MAX_PAGE_BYTES as u64).ok()?;
        Some(for_host(&String::from_utf8(bytes).ok()?))
    }

    fn folder(&self) -> io::Result<PathBuf> {
        match &self.folder {
            PagesFolder::Kept(folder) => create_private_dir(folder).map(|()| folder.clone()),
            PagesFolder::Temporary(temporary) => {
                let mut temporary = temporary.lock();
                if temporary.is_none() {
                    *temporary = Some(tempfile::Builder::new().prefix("goose-pages-").tempdir()?);
                }
                Ok(temporary.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default())
            }
        }
    }
}

impl WrittenPage {
    /// Returns the result of a tool.
    pub(super) fn output(&self) -> ToolOutput {
        let (uri, name) = (&self.resource.uri, &self.resource.name);
        let title = self.resource.title.as_deref().unwrap_or_default();
        let open = match self.is_kept {
            true => format!("The user opens it with `goose apps open {name}`, or this file in a browser"),
            false => "The user opens this file in a browser".to_owned(),
        };
        let file = self.file.display();
        let text = format!("Drew \"{title}\", a {}.\n{open}:\n{file}\nMCP clients show {uri}.", self.summary);
        let link = ContentBlock::resource_link(self.resource.clone());
        let mut output = ToolOutput::content([ContentBlock::text(text), link])
            .with_structured(json!({ "uri": uri, "file": self.file }));
        // MCP clients that show apps look for the page here.
        output.meta.get_or_insert_default().0.insert("ui".to_owned(), json!({ "resourceUri": uri }));
        output
    }
}

/// Returns the name of a page: its kind, its title, and a hash, so that the same page has the same name.
fn name(kind: &str, title: &str, html: &str) -> String {
    let title = title.to_lowercase();
    let words =
        title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && *word != kind);
    let mut slug = words.collect::<Vec<_>>().join("-");
    slug.truncate(MAX_SLUG_BYTES);
    let slug = slug.trim_matches('-');
    let mut hasher = DefaultHasher::new();
    html.hash(&mut hasher);
    let hash = hasher.finish() & 0xffff_ffff;
    if slug.is_empty() { format!("{kind}-{hash:08x}") } else { format!("{kind}-{slug}-{hash:08x}") }
}

/// Removes the oldest files. Another process may do so too, so that nothing here is an error.
fn remove_oldest(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
    let changed = |path: PathBuf| {
        let changed = fs::metadata(&path).and_then(|metadata| metadata.modified());
        (changed.unwrap_or(SystemTime::UNIX_EPOCH), path)
    };
    let files = entries.flatten().map(|entry| entry.path()).filter(is_page);
    let mut files: Vec<(SystemTime, PathBuf)> = files.map(changed).collect();
    if files.len() <= MAX_FILES {
        return;
    }
    files.sort_unstable();
    for (_, file) in &files[..files.len() - MAX_FILES] {
        let _ = fs::remove_file(file);
    }
}

fn cannot_write(error: io::Error) -> ToolError {
    ToolError::execution(format!("The page could not be written ({error}). Tell the user."))
}
