//! `tom`, top of mind: text that the user wants the model to see with each request.
//!
//! `GOOSE_MOIM_MESSAGE_TEXT` is the text itself, `GOOSE_MOIM_MESSAGE_FILE` a file with more of it, each from
//! the environment or the configuration. The file is read again when it has changed. There are no tools:
//! [`TopOfMind::for_request`] returns the text, and the orchestrator adds it to the message.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;

use crate::config::{ConfigError, Settings};

/// Key of the text.
pub const TEXT_KEY: &str = "GOOSE_MOIM_MESSAGE_TEXT";

/// Key of the file's path.
pub const FILE_KEY: &str = "GOOSE_MOIM_MESSAGE_FILE";

/// Maximum size of the text and of the file.
pub const MAX_BYTES: usize = 64 * 1024;

/// The top-of-mind context of a session. Clones share the file content.
#[derive(Debug, Clone, Default)]
pub struct TopOfMind(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    text: Option<String>,
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Problems in the configuration, reported with the first request.
    notices: Vec<String>,
    content: Content,
}

/// Content of the file when it was last read.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Unread,
    Read {
        version: Version,
        text: Option<String>,
    },
    /// The file cannot be used. This is reported once; the file is read again with each request.
    Unusable(String),
}

/// State of a file, to detect a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    changed_at: Option<SystemTime>,
    bytes: u64,
}

/// Additions to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopOfMindText {
    /// Text for the model, if there is any.
    pub text: Option<String>,
    /// Problems for the user. Each is reported once.
    pub notices: Vec<String>,
}

impl TopOfMind {
    /// Reads the settings. `~` in the file's path is the home folder; a relative path is in the working
    /// folder.
    ///
    /// # Errors
    ///
    /// Fails if a setting is not a string.
    pub fn new(settings: &Settings, home: Option<&Path>, working_dir: &Path) -> Result<Self, ConfigError> {
        let present = |value: Option<String>| value.filter(|text| !text.trim().is_empty());
        let text = present(settings.get(TEXT_KEY)?);
        let file = present(settings.get(FILE_KEY)?);
        Ok(Self::from_parts(text, file.map(|path| working_dir.join(expanded(path.trim(), home)))))
    }

    /// Creates the context of a text and a file.
    pub fn from_parts(text: Option<String>, file: Option<PathBuf>) -> Self {
        let mut state = State::default();
        let text = text.filter(|text| {
            let fits = text.len() <= MAX_BYTES;
            if !fits {
                state.notices.push(format!(
                    "{TEXT_KEY} has {} bytes and is not used: at most {MAX_BYTES} are. Shorten it.",
                    text.len()
                ));
            }
            fits
        });
        Self(Arc::new(Inner { text, file, state: Mutex::new(state) }))
    }

    /// Returns true if nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.0.text.is_none() && self.0.file.is_none() && self.0.state.lock().notices.is_empty()
    }

    /// Returns the text for a request, with the file as it is now.
    pub async fn for_request(&self) -> TopOfMindText {
        if self.is_empty() {
            return TopOfMindText::default();
        }
        let this = self.clone();
        // The file may be on a slow disk.
        tokio::task::spawn_blocking(move || this.read()).await.unwrap_or_default()
    }

    fn read(&self) -> TopOfMindText {
        let mut state = self.0.state.lock();
        let mut notices = std::mem::take(&mut state.notices);
        if let Some(file) = &self.0.file {
            notices.extend(state.content.refresh(file));
        }
        let file = match &state.content {
            Content::Read { text, .. } => text.as_deref(),
            _ => None,
        };
        let parts: Vec<&str> = self.0.text.as_deref().into_iter().chain(file).map(str::trim).collect();
        let text = (!parts.is_empty()).then(|| parts.join("\n\n"));
        TopOfMindText { text, notices }
    }
}

impl Content {
    /// Reads the file if it has changed. Returns a notice for a problem that is new.
    fn refresh(&mut self, path: &Path) -> Option<String> {
        let known = match self {
            Self::Read { version, .. } => Some(*version),
            _ => None,
        };
        match read_file(path, known) {
            Ok(None) => None,
            Ok(Some((version, text))) => {
                let text = Some(text).filter(|text| !text.trim().is_empty());
                *self = Self::Read { version, text };
                None
            }
            Err(error) => {
                let problem = error.to_string();
                let is_known = matches!(self, Self::Unusable(known) if *known == problem);
                let notice = format!("{FILE_KEY}: {} is not used: {problem}.", path.display());
                *self = Self::Unusable(problem);
                (!is_known).then_some(notice)
            }
        }
    }
}

/// Returns the content of a file, or `None` if it is still the known version.
fn read_file(path: &Path, known: Option<Version>) -> io::Result<Option<(Version, String)>> {
    let metadata = fs::metadata(path)?;
    let version = Version { changed_at: metadata.modified().ok(), bytes: metadata.len() };
    if known == Some(version) {
        return Ok(None);
    }
    let bytes = goose_fs::read_regular(path, MAX_BYTES as u64)?;
    if bytes.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes; shorten it")));
    }
    Ok(Some((version, String::from_utf8_lossy(&bytes).into_owned())))
}

/// Replaces `~` at the start of a path.
fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_home_is_expanded() {
        let home = Some(Path::new("/home/ada"));
        for (path, expected) in [
            ("~", "/home/ada"),
            ("~/a/b", "/home/ada/a/b"),
            ("~ada/x", "~ada/x"),
            ("/x/~", "/x/~"),
            ("x", "x"),
        ] {
            assert_eq!(expanded(path, home), Path::new(expected));
        }
        assert_eq!(expanded("~/a", None), Path::new("~/a"));
    }
}
