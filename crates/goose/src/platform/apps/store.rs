//! [`AppStore`]: stores apps as files `NAME.html` in one folder, like goose 1.52.
//!
//! Earlier versions are in `.versions/NAME/N.html`; the highest number is the newest. All files are private
//! and replaced atomically. Nothing here is asynchronous: callers on a runtime use `spawn_blocking`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::{AtomicFile, FileLock, create_private_dir, open_lock_file};
use jiff::Timestamp;

use super::document::{self, Description, MAX_APP_BYTES, Outline};

/// Maximum number of apps.
const MAX_APPS: usize = 500;

/// Maximum number of names that are read from the folder.
const MAX_NAMES: usize = 5_000;

/// Maximum number of earlier versions that are kept of an app.
const MAX_VERSIONS: usize = 10;

/// Maximum size of the header of a file.
const MAX_HEADER_BYTES: usize = 128 * 1024;

/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 64;

/// Time to wait for another process that changes an app.
const LOCK_WAIT: Duration = Duration::from_secs(5);

const EXTENSION: &str = ".html";
const VERSIONS: &str = ".versions";
const LOCK: &str = ".lock";

/// The apps of a folder.
#[derive(Debug, Clone)]
pub struct AppStore {
    dir: PathBuf,
}

/// An app without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppInfo {
    /// Name, which is also the name of the file.
    pub name: String,
    /// Title of the app.
    pub title: String,
    /// Purpose, in a sentence. Empty if there is none.
    pub description: String,
    /// Size of the file.
    pub bytes: u64,
    /// Time of the last change.
    pub changed_at: Timestamp,
    /// Width and height of the window, if the app sets them.
    pub window: Option<(u32, u32)>,
}

impl AppInfo {
    /// Returns the URI under which MCP clients read the app.
    pub fn uri(&self) -> String {
        format!("{}{}", super::URI_PREFIX, self.name)
    }
}

/// An app.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct App {
    /// Description of the app.
    pub info: AppInfo,
    /// Document to be shown, with the policy that forbids network access.
    pub html: String,
    /// Document as the model wrote it.
    pub source: String,
    /// Task that the app was made for.
    pub task: Option<String>,
}

/// An earlier version of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppVersion {
    /// Number. Higher is newer.
    pub number: u32,
    /// Size of the file.
    pub bytes: u64,
    /// Time at which the version was replaced.
    pub replaced_at: Timestamp,
}

/// Error of an operation on apps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The app does not exist.
    #[error("there is no app `{name}`; {}", listed(.known))]
    Missing {
        /// Name that was looked up.
        name: String,
        /// Names of the existing apps.
        known: Vec<String>,
    },
    /// The version does not exist.
    #[error("the app `{name}` has no earlier version {number}; {}", listed(.known))]
    NoVersion {
        /// Name of the app.
        name: String,
        /// Number that was looked up.
        number: u32,
        /// Numbers of the existing versions.
        known: Vec<String>,
    },
    /// The name is invalid.
    #[error(
        "`{0}` cannot be the name of an app: names have up to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`"
    )]
    BadName(String),
    /// The document is invalid.
    #[error("the document cannot be an app:\n- {}", .0.join("\n- "))]
    BadDocument(Vec<String>),
    /// There are too many apps.
    #[error("there are {MAX_APPS} apps already; delete one first")]
    TooMany,
    /// A file cannot be used.
    #[error("{} cannot be used: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Underlying error.
        error: io::Error,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "there are none yet".to_owned();
    }
    format!("there are: {}", names.join(", "))
}

impl AppStore {
    /// Creates a store for the apps of a folder. The folder is created when it is needed.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lists the apps by name. Files that cannot be read are left out.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read. A folder that does not exist has no apps.
    pub fn list(&self) -> Result<Vec<AppInfo>, AppError> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| Some(self.read(name, &self.file(name)).ok()?.info)).collect())
    }

    /// Returns an app.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::BadName`], and errors of the file.
    pub fn show(&self, name: &str) -> Result<App, AppError> {
        self.existing(name)?;
        self.read(name, &self.file(name))
    }

    /// Stores a new document as an app that is named after its title, and returns it.
    ///
    /// # Errors
    ///
    /// [`AppError::BadDocument`], [`AppError::TooMany`], and errors of the file.
    pub fn create(&self, html: &str, task: &str) -> Result<AppInfo, AppError> {
        let outline = document::check(html).map_err(AppError::BadDocument)?;
        let _lock = self.lock()?;
        let names = self.names()?;
        if names.len() >= MAX_APPS {
            return Err(AppError::TooMany);
        }
        let name = free_name(&slug(&outline.title), &names);
        self.write(&name, html, &outline, Some(task))
    }

    /// Replaces the document of an app. The previous one becomes a version.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::BadDocument`], and errors of the file.
    pub fn change(&self, name: &str, html: &str) -> Result<AppInfo, AppError> {
        let outline = document::check(html).map_err(AppError::BadDocument)?;
        self.replace(name, html, &outline)
    }

    /// Lists the earlier versions of an app, the newest first.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::BadName`], and errors of the folder.
    pub fn versions(&self, name: &str) -> Result<Vec<AppVersion>, AppError> {
        self.existing(name)?;
        let numbers = self.version_numbers(name)?;
        let versions = numbers.into_iter().filter_map(|number| {
            let metadata = fs::metadata(self.version_file(name, number)).ok()?;
            Some(AppVersion { number, bytes: metadata.len(), replaced_at: changed_at(&metadata) })
        });
        Ok(versions.collect())
    }

    /// Returns an earlier version of an app.
    ///
    /// # Errors
    ///
    /// [`AppError::NoVersion`], [`AppError::BadName`], and errors of the file.
    pub fn show_version(&self, name: &str, number: u32) -> Result<App, AppError> {
        check_name(name)?;
        self.read(name, &self.version_file(name, number)).map_err(|error| match error {
            AppError::File { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                let known = self.version_numbers(name).unwrap_or_default();
                let known = known.iter().map(u32::to_string).collect();
                AppError::NoVersion { name: name.to_owned(), number, known }
            }
            other => other,
        })
    }

    /// Makes an earlier version the current one. The previous one becomes a version.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::NoVersion`], and errors of the file.
    pub fn restore(&self, name: &str, number: u32) -> Result<AppInfo, AppError> {
        let version = self.show_version(name, number)?;
        // A version from goose 1.52 may not pass today's checks. The policy still applies to it.
        self.replace(name, &version.source, &Outline::read(&version.source))
    }

    /// Writes an app to a file for a browser, in a frame that it cannot leave. An existing file is replaced.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::BadName`], and errors of the files.
    pub fn export(&self, name: &str, to: &Path) -> Result<(), AppError> {
        let app = self.show(name)?;
        let page = document::framed(&app.html, &app.info.title);
        AtomicFile::new(to).shared().write(page.as_bytes()).map_err(|error| at(to, error))
    }

    /// Deletes an app with its versions.
    ///
    /// # Errors
    ///
    /// [`AppError::Missing`], [`AppError::BadName`], and errors of the files.
    pub fn delete(&self, name: &str) -> Result<(), AppError> {
        self.existing(name)?;
        let _lock = self.lock()?;
        let file = self.file(name);
        fs::remove_file(&file).map_err(|error| at(&file, error))?;
        let versions = self.versions_dir(name);
        match fs::remove_dir_all(&versions) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(&versions, error)),
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}{EXTENSION}"))
    }

    fn versions_dir(&self, name: &str) -> PathBuf {
        self.dir.join(VERSIONS).join(name)
    }

    fn version_file(&self, name: &str, number: u32) -> PathBuf {
        self.versions_dir(name).join(format!("{number}{EXTENSION}"))
    }

    fn lock(&self) -> Result<FileLock, AppError> {
        create_private_dir(&self.dir).map_err(|error| at(&self.dir, error))?;
        let path = self.dir.join(LOCK);
        let locked = open_lock_file(&path).and_then(|file| FileLock::wait(file, LOCK_WAIT));
        locked.map_err(|error| at(&path, error))
    }

    /// Returns the names of all apps, sorted.
    fn names(&self) -> Result<Vec<String>, AppError> {
        let mut names = names_in(&self.dir)?;
        names.retain(|name| check_name(name).is_ok());
        names.truncate(MAX_APPS);
        Ok(names)
    }

    fn existing(&self, name: &str) -> Result<(), AppError> {
        check_name(name)?;
        if self.file(name).is_file() {
            return Ok(());
        }
        Err(AppError::Missing { name: name.to_owned(), known: self.names()? })
    }

    /// Returns the numbers of the versions of an app, the highest first.
    fn version_numbers(&self, name: &str) -> Result<Vec<u32>, AppError> {
        let names = names_in(&self.versions_dir(name))?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        Ok(numbers)
    }

    fn replace(&self, name: &str, html: &str, outline: &Outline) -> Result<AppInfo, AppError> {
        self.existing(name)?;
        let _lock = self.lock()?;
        let before = self.read(name, &self.file(name))?;
        self.keep_version(name)?;
        self.write(name, html, outline, before.task.as_deref())
    }

    fn keep_version(&self, name: &str) -> Result<(), AppError> {
        let (dir, file) = (self.versions_dir(name), self.file(name));
        create_private_dir(&dir).map_err(|error| at(&dir, error))?;
        let numbers = self.version_numbers(name)?;
        let number = numbers.first().map_or(1, |newest| newest.saturating_add(1));
        let bytes = read_bounded(&file).map_err(|error| at(&file, error))?;
        let version = self.version_file(name, number);
        AtomicFile::new(&version).write(bytes.as_bytes()).map_err(|error| at(&version, error))?;
        for old in numbers.iter().skip(MAX_VERSIONS - 1) {
            // A version that cannot be removed now is removed with the next change.
            let _ = fs::remove_file(self.version_file(name, *old));
        }
        Ok(())
    }

    fn write(
        &self,
        name: &str,
        html: &str,
        outline: &Outline,
        task: Option<&str>,
    ) -> Result<AppInfo, AppError> {
        let described = outline.description.clone().unwrap_or_default();
        let summary = if outline.summary.is_empty() { &described.description } else { &outline.summary };
        let description =
            Description { name: name.to_owned(), description: summary.clone(), ..described.clone() };
        let file = self.file(name);
        let stored = document::with_header(html, &description, task.or(outline.task.as_deref()));
        AtomicFile::new(&file).synced().write(stored.as_bytes()).map_err(|error| at(&file, error))?;
        Ok(self.read(name, &file)?.info)
    }

    fn read(&self, name: &str, file: &Path) -> Result<App, AppError> {
        let read = || Ok((fs::metadata(file)?, read_bounded(file)?));
        let (metadata, stored) = read().map_err(|error| at(file, error))?;
        let outline = Outline::read(&stored);
        let described = outline.description.unwrap_or_default();
        let summary =
            if described.description.is_empty() { outline.summary } else { described.description.clone() };
        let info = AppInfo {
            name: name.to_owned(),
            title: if outline.title.is_empty() { name.to_owned() } else { outline.title },
            description: summary,
            bytes: metadata.len(),
            changed_at: changed_at(&metadata),
            window: described.width.zip(described.height),
        };
        let html = if document::has_header(&stored) {
            stored.clone()
        } else {
            // A file of goose 1.52, or an edited one.
            document::with_header(&stored, &Description { name: name.to_owned(), ..described }, None)
        };
        let source = document::source(&stored).to_owned();
        Ok(App { info, html, source, task: outline.task })
    }
}

fn at(path: &Path, error: io::Error) -> AppError {
    AppError::File { path: path.to_owned(), error }
}

fn changed_at(metadata: &fs::Metadata) -> Timestamp {
    metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the names of the files in a folder, sorted and without their extension. A missing folder has none.
fn names_in(dir: &Path) -> Result<Vec<String>, AppError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(dir, error)),
    };
    let names = entries.take(MAX_NAMES).filter_map(Result::ok).map(|entry| entry.file_name());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(EXTENSION)?.to_owned())).collect();
    names.sort_unstable();
    Ok(names)
}

/// Reads a regular file up to the size limit, because any program may have written it.
fn read_bounded(path: &Path) -> io::Result<String> {
    let limit = (MAX_APP_BYTES + MAX_HEADER_BYTES) as u64;
    let bytes = goose_fs::read_regular(path, limit)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn check_name(name: &str) -> Result<(), AppError> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_fine) && !name.starts_with('.') {
        return Ok(());
    }
    let shown = goose_extension::visible_line(&name[..name.floor_char_boundary(MAX_NAME_BYTES)]).into_owned();
    Err(AppError::BadName(shown))
}

/// Returns a title as a name: lower-case letters and digits, joined by `-`.
fn slug(title: &str) -> String {
    const MAX_SLUG_BYTES: usize = 40;
    let title = title.to_lowercase();
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-");
    slug.truncate(MAX_SLUG_BYTES);
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "app".to_owned() } else { slug.to_owned() }
}

/// Returns an unused name.
fn free_name(name: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.iter().any(|taken| taken.eq_ignore_ascii_case(name));
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_titles_and_are_free() {
        assert_eq!(slug("  Mörder's  Clock 2.0!"), "m-rder-s-clock-2-0");
        assert_eq!((slug("時計").as_str(), slug(&"x".repeat(90)).len()), ("app", 40));
        let taken = ["clock".to_owned(), "Clock-2".to_owned()];
        assert_eq!(free_name("clock", &taken), "clock-3");
        for bad in ["", "..", ".hidden", "a/b", "a b", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
