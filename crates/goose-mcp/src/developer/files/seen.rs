//! [`SeenFiles`]: the files that each session has looked at, so that none is replaced unseen.
//!
//! Only `read`, `write` and `edit` count. The output of a command may show a file, or a part of it, or another one of
//! the same name; which it was is not known for certain, and reading the file again costs little.

use std::{
    collections::{BTreeSet, HashSet, VecDeque},
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

/// Maximum number of sessions whose files are remembered.
const MAX_SESSIONS: usize = 64;

/// Maximum number of files of a session; beyond it, the session looks at them once more.
const MAX_FILES: usize = 10_000;

/// The files that the last sessions have seen, the oldest session first.
#[derive(Debug, Default)]
pub(in super::super) struct SeenFiles(Mutex<VecDeque<(String, HashSet<PathBuf>)>>);

impl SeenFiles {
    /// Notes that a session has looked at a file, or has written it.
    pub(super) fn note(&self, session: &str, path: &Path) {
        let mut sessions = self.0.lock();
        let at = sessions.iter().position(|(owner, _)| owner == session);
        let mut seen =
            at.and_then(|at| sessions.remove(at)).unwrap_or_else(|| (session.to_owned(), HashSet::new()));
        if seen.1.len() >= MAX_FILES {
            seen.1.clear();
        }
        seen.1.insert(path.to_owned());
        sessions.push_back(seen);
        if sessions.len() > MAX_SESSIONS {
            sessions.pop_front();
        }
    }

    /// The files of a session, by name.
    pub(super) fn files(&self, session: &str) -> BTreeSet<PathBuf> {
        let sessions = self.0.lock();
        let seen = sessions.iter().find(|(owner, _)| owner == session);
        seen.map_or_else(BTreeSet::new, |(_, files)| files.iter().cloned().collect())
    }

    pub(super) fn has(&self, session: &str, path: &Path) -> bool {
        self.0.lock().iter().any(|(owner, files)| owner == session && files.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_seen_its_own_files_and_the_oldest_is_forgotten() {
        let (seen, file) = (SeenFiles::default(), Path::new("/work/a"));
        seen.note("one", file);
        assert!(seen.has("one", file) && !seen.has("two", file) && !seen.has("one", Path::new("/work/b")));
        for number in 1..MAX_SESSIONS {
            seen.note(&number.to_string(), file);
        }
        assert!(seen.has("one", file));
        seen.note("another", file);
        assert!(!seen.has("one", file) && seen.has("1", file));
    }
}
