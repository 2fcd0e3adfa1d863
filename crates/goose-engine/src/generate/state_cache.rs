//! [`StateCache`]: saved states of conversations in the cache folder, so that a resumed conversation is
//! not computed again.
//!
//! Next to each state is a small file with its tokens, which tells how much of a new prompt the state
//! covers. Files that are damaged or belong to another model are ignored. A failure of the cache never
//! fails a request.

use std::{
    cmp::Reverse,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::loaded::WORTH_LOADING;
use crate::{
    EngineError, Model, Sequence,
    private_file::{self, UNFINISHED},
};

/// Maximum number of states, and of openings among them. Each set of tools has its own opening.
const MAX_STATES: usize = 8;
const MAX_OPENINGS: usize = 4;

/// Maximum size of all states.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Maximum number of tokens of a saved conversation.
const MAX_TOKENS: usize = 64 * 1024;

/// Extensions of the files.
const STATE: &str = "state";
const TOKENS: &str = "tokens";

/// Mark of an opening in a file name.
const OPENING: &str = "base";

/// Age after which an unfinished file counts as abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Removes the states of a conversation, for all models.
///
/// # Errors
///
/// A file cannot be removed.
pub fn forget(folder: &Path, conversation: &str) -> io::Result<()> {
    let ending = format!("-{:016x}", hash(conversation.as_bytes()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        // `MODEL-CONVERSATION.state`, or a temporary name that begins with it.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.split('.').next().is_some_and(|stem| stem.ends_with(&ending)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Saved states of one model.
#[derive(Debug)]
pub(super) struct StateCache {
    folder: PathBuf,
    /// Identity of the model, as the first part of file names.
    model: String,
}

impl StateCache {
    pub(super) fn new(folder: PathBuf, model: &Path) -> Self {
        Self { folder, model: format!("{:016x}", identity(model)) }
    }

    /// Loads the state that shares the longest prefix with `tokens`, if that is longer than `least`.
    pub(super) fn best(
        &self,
        model: &Arc<Model>,
        tokens: &[u32],
        least: usize,
        capacity: usize,
    ) -> Option<Sequence> {
        let mut candidates = self.candidates(tokens, least, capacity);
        while let Some(next) = best_of(&candidates) {
            let candidate = candidates.swap_remove(next);
            match Sequence::load(Arc::clone(model), &candidate.state, capacity) {
                Ok(sequence) if common_prefix(sequence.tokens(), tokens) > least => {
                    // States that were used recently are kept longest.
                    touch(&candidate.state);
                    return Some(sequence);
                }
                Err(EngineError::StaleState(_) | EngineError::UnknownToken { .. }) => {
                    remove(&candidate.state)
                }
                // It may be useful, or readable, later.
                _ => {}
            }
        }
        None
    }

    /// Returns the states that may be useful. A state that does not fit into this run's context is
    /// skipped, but kept for other runs.
    fn candidates(&self, tokens: &[u32], least: usize, capacity: usize) -> Vec<Candidate> {
        let own = self.files(TOKENS).into_iter().filter(|file| self.is_own(&file.path));
        own.filter_map(|file| {
            let held = read_tokens(&file.path);
            let state = file.path.with_extension(STATE);
            let bytes = fs::metadata(&state).ok()?.len();
            let candidate = Candidate { common: common_prefix(&held, tokens), bytes, state };
            (candidate.common > least && held.len() <= capacity).then_some(candidate)
        })
        .collect()
    }

    /// Saves a conversation. Removes the oldest states if there are too many.
    pub(super) fn keep(&self, conversation: &str, sequence: &Sequence) {
        self.put(&format!("{}-{:016x}", self.model, hash(conversation.as_bytes())), sequence);
    }

    /// Saves the opening that conversations share. It contains no text of the user.
    pub(super) fn keep_opening(&self, sequence: &Sequence) {
        self.put(&format!("{}-{OPENING}-{:016x}", self.model, hash(&token_bytes(sequence))), sequence);
    }

    fn put(&self, name: &str, sequence: &Sequence) {
        if sequence.tokens().len() <= MAX_TOKENS && sequence.saved_bytes() <= MAX_BYTES {
            // Without a saved state, the next run is only slower.
            let _ = self.write(name, sequence);
            self.evict();
        }
    }

    fn write(&self, name: &str, sequence: &Sequence) -> io::Result<()> {
        private_folder(&self.folder)?;
        let state = self.folder.join(format!("{name}.{STATE}"));
        sequence.save(&state).map_err(io::Error::other)?;
        private_file::write(&state.with_extension(TOKENS), |mut file| file.write_all(&token_bytes(sequence)))
    }

    /// Removes states beyond the limits. Openings stay first: they are small, and help all conversations.
    fn evict(&self) {
        let mut states = self.files(STATE);
        states.sort_by_key(|file| (!is_opening(&file.path), Reverse(file.used)));
        let (mut kept, mut openings, mut bytes) = (0, 0, 0);
        for file in states {
            let has_room = kept < MAX_STATES && bytes + file.bytes <= MAX_BYTES;
            if !has_room || is_opening(&file.path) && openings == MAX_OPENINGS {
                remove(&file.path);
                continue;
            }
            kept += 1;
            openings += usize::from(is_opening(&file.path));
            bytes += file.bytes;
        }
        self.sweep();
    }

    /// Removes abandoned files.
    fn sweep(&self) {
        for file in self.files(UNFINISHED) {
            if file.used.elapsed().is_ok_and(|age| age > ABANDONED_AFTER) {
                let _ = fs::remove_file(&file.path);
            }
        }
    }

    fn files(&self, kind: &str) -> Vec<CacheFile> {
        let file = |entry: fs::DirEntry| {
            let path = entry.path();
            path.extension().filter(|extension| *extension == kind)?;
            let facts = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some(CacheFile { path, bytes: facts.len(), used: facts.modified().ok()? })
        };
        fs::read_dir(&self.folder).into_iter().flatten().flatten().filter_map(file).collect()
    }

    fn is_own(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&self.model))
    }
}

/// State that may be useful.
#[derive(Clone)]
struct Candidate {
    state: PathBuf,
    /// Length of the prefix that it shares with the prompt, in tokens.
    common: usize,
    bytes: u64,
}

/// Returns the candidate with the longest prefix, or a smaller file with nearly the same prefix.
fn best_of(candidates: &[Candidate]) -> Option<usize> {
    let most = candidates.iter().map(|candidate| candidate.common).max()?;
    let nearly = |candidate: &Candidate| candidate.common + WORTH_LOADING >= most;
    let good = candidates.iter().enumerate().filter(|(_, candidate)| nearly(candidate));
    good.min_by_key(|(_, candidate)| (candidate.bytes, Reverse(candidate.common))).map(|(place, _)| place)
}

struct CacheFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Returns the number of tokens that two sequences share at their beginning.
pub(super) fn common_prefix(one: &[u32], other: &[u32]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

fn read_tokens(path: &Path) -> Vec<u32> {
    let is_small =
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() <= (MAX_TOKENS * 4) as u64);
    let bytes = if is_small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    bytes.as_chunks::<4>().0.iter().map(|token| u32::from_le_bytes(*token)).collect()
}

fn token_bytes(sequence: &Sequence) -> Vec<u8> {
    sequence.tokens().iter().flat_map(|token| token.to_le_bytes()).collect()
}

fn is_opening(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(&format!("-{OPENING}-")))
}

fn remove(path: &Path) {
    for kind in [STATE, TOKENS] {
        let _ = fs::remove_file(path.with_extension(kind));
    }
}

fn touch(path: &Path) {
    let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Returns a number for the file. A replaced file counts as another model.
fn identity(model: &Path) -> u64 {
    let facts = fs::metadata(model).ok();
    let changed = facts.as_ref().and_then(|facts| facts.modified().ok());
    let since =
        changed.and_then(|changed| changed.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let text = format!("{}\n{}\n{since:?}", model.display(), facts.map_or(0, |facts| facts.len()));
    hash(text.as_bytes())
}

/// FNV-1a. It names files and protects nothing.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Creates a folder that only its owner can read: the files contain the conversation.
#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
#[path = "state_cache_tests.rs"]
mod tests;
