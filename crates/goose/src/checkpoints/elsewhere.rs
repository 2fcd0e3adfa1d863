//! [`ChangedElsewhere`]: files that have changed since a command ran, and of which there is no copy.

use std::{
    collections::HashSet,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ignore::{DirEntry, WalkBuilder};
use jiff::{SignedDuration, Timestamp};

use super::{
    Checkpoints,
    journal::{self, Record},
};

/// Maximum number of files and folders that are looked at.
const MAX_ENTRIES: usize = 50_000;

/// Maximum number of files that are listed.
const MAX_FILES: usize = 500;

/// Difference between the clock of files and that of programs.
const CLOCK_STEP: SignedDuration = SignedDuration::from_millis(20);

/// Changes that cannot be restored, because `write` and `edit` did not make them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedElsewhere {
    /// First lines of the commands that ran.
    pub commands: Vec<String>,
    /// Files that have changed since the first of them, by commands or other programs. Git's ignored files are left
    /// out.
    pub files: Vec<PathBuf>,
    /// False if there were too many files to look at all.
    pub is_complete: bool,
}

impl Checkpoints {
    /// Returns the commands at or after a step, and the files in a folder that have changed since the first of them and
    /// that no tool has changed. Deleted files are not found. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if the records cannot be read.
    pub fn changed_elsewhere(&self, step: u64, folder: &Path) -> io::Result<ChangedElsewhere> {
        let records = self.records()?;
        let ran = records.iter().filter_map(|record| match record {
            Record::Command { step: at_step, at, text } if *at_step >= step => Some((*at, text.clone())),
            _ => None,
        });
        let (times, commands): (Vec<Timestamp>, Vec<String>) = ran.unzip();
        let Some(first) = times.first() else {
            return Ok(ChangedElsewhere { is_complete: true, ..Default::default() });
        };
        let own: HashSet<PathBuf> = journal::made(&records).into_iter().map(|change| change.path).collect();
        let since = first.saturating_sub(CLOCK_STEP).unwrap_or(*first);
        let (files, is_complete) = self.changed_files(folder, since, &own);
        Ok(ChangedElsewhere { commands, files, is_complete })
    }

    fn changed_files(&self, folder: &Path, since: Timestamp, own: &HashSet<PathBuf>) -> (Vec<PathBuf>, bool) {
        let folders = self.own_folders.clone();
        let is_users = move |entry: &DirEntry| {
            entry.file_name() != ".git" && !folders.iter().any(|folder| entry.path() == folder)
        };
        let walk = WalkBuilder::new(folder).hidden(false).filter_entry(is_users).build();
        let (mut files, mut seen) = (Vec::new(), 0);
        for entry in walk.filter_map(Result::ok) {
            seen += 1;
            if seen > MAX_ENTRIES || files.len() >= MAX_FILES {
                return (files, false);
            }
            let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
            if is_file && !own.contains(entry.path()) && changed_at(&entry).is_some_and(|at| at >= since) {
                files.push(entry.into_path());
            }
        }
        (files, true)
    }
}

/// Returns the time of the last change of a file's content or metadata.
fn changed_at(entry: &DirEntry) -> Option<Timestamp> {
    let metadata = entry.metadata().ok()?;
    Timestamp::new(metadata.ctime(), i32::try_from(metadata.ctime_nsec()).ok()?).ok()
}
