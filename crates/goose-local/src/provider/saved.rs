//! [`Saved`]: conversations kept between runs, in the cache folder, so that going on with one does not compute it anew.
//!
//! Beside each conversation's state stands a small file with its tokens: a look at those tells which state begins as the
//! new question does. Whatever is damaged, of another model or in the way is passed over; nothing here can fail a question.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use crate::{Model, Sequence};

/// How many conversations are kept.
const MAX_KEPT: usize = 8;

/// How much space they may take.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// How many tokens a conversation may have to be kept.
const MAX_TOKENS: usize = 64 * 1024;

const STATE: &str = "state";
const TOKENS: &str = "tokens";

/// The conversations of one model.
#[derive(Debug)]
pub(super) struct Saved {
    folder: PathBuf,
    /// Which model they are of.
    model: String,
}

impl Saved {
    pub(super) fn in_folder(folder: PathBuf, model: &Path) -> Self {
        Self { folder, model: format!("{:016x}", identity(model)) }
    }

    /// The conversation that has the most of these tokens at its beginning, where that is more than `least`.
    pub(super) fn best(
        &self,
        model: &Arc<Model>,
        tokens: &[u32],
        least: usize,
        capacity: usize,
    ) -> Option<Sequence> {
        let mut found: Vec<(usize, PathBuf)> = self
            .files(TOKENS)
            .into_iter()
            .filter(|file| self.is_own(&file.path))
            .map(|file| (common(&read_tokens(&file.path), tokens), file.path))
            .filter(|(common, _)| *common > least)
            .collect();
        found.sort_by_key(|(common, _)| std::cmp::Reverse(*common));
        found.into_iter().find_map(|(_, path)| {
            let state = path.with_extension(STATE);
            let sequence = Sequence::load(Arc::clone(model), &state, capacity).ok();
            match &sequence {
                // What is used stays longest.
                Some(_) => touch(&state),
                None => remove(&path),
            }
            sequence.filter(|sequence| common(sequence.tokens(), tokens) > least)
        })
    }

    /// Keeps a conversation; the oldest make room.
    pub(super) fn keep(&self, conversation: &str, sequence: &Sequence) {
        if sequence.tokens().len() <= MAX_TOKENS {
            // A cache that cannot be written is only slower.
            let _ = self.write(conversation, sequence);
            self.make_room();
        }
    }

    /// Keeps what conversations begin with. Nobody's words are in it.
    pub(super) fn keep_base(&self, sequence: &Sequence) {
        self.keep("what conversations begin with", sequence);
    }

    fn write(&self, conversation: &str, sequence: &Sequence) -> io::Result<()> {
        private_folder(&self.folder)?;
        let base = self.folder.join(format!("{}-{:016x}", self.model, hash(conversation.as_bytes())));
        let unfinished = self.folder.join(format!("unfinished-{}", std::process::id()));
        let written = private_file(&unfinished)
            .and_then(|()| sequence.save(&unfinished).map_err(io::Error::other))
            .and_then(|()| restrict(&unfinished))
            .and_then(|()| fs::rename(&unfinished, base.with_extension(STATE)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
            return written;
        }
        let bytes: Vec<u8> = sequence.tokens().iter().flat_map(|token| token.to_le_bytes()).collect();
        private_file(&unfinished)?;
        fs::write(&unfinished, bytes)?;
        fs::rename(&unfinished, base.with_extension(TOKENS))
    }

    fn make_room(&self) {
        let mut states = self.files(STATE);
        states.sort_by_key(|file| std::cmp::Reverse(file.used));
        let mut bytes = 0;
        for (place, file) in states.iter().enumerate() {
            bytes += file.bytes;
            if place >= MAX_KEPT || bytes > MAX_BYTES {
                remove(&file.path);
            }
        }
    }

    fn files(&self, kind: &str) -> Vec<Found> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let of_kind =
            entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == kind));
        of_kind.filter_map(|entry| Found::of(&entry)).collect()
    }

    fn is_own(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&self.model))
    }
}

struct Found {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Found {
    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let facts = entry.metadata().ok()?;
        facts.is_file().then_some(())?;
        Some(Self { path: entry.path(), bytes: facts.len(), used: facts.modified().ok()? })
    }
}

/// How many tokens two conversations share at their beginning.
pub(super) fn common(one: &[u32], other: &[u32]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

fn read_tokens(path: &Path) -> Vec<u32> {
    let is_small = fs::metadata(path).is_ok_and(|facts| facts.len() <= (MAX_TOKENS * 4) as u64);
    let bytes = if is_small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    bytes.as_chunks::<4>().0.iter().map(|token| u32::from_le_bytes(*token)).collect()
}

fn remove(path: &Path) {
    for kind in [STATE, TOKENS] {
        let _ = fs::remove_file(path.with_extension(kind));
    }
}

fn touch(path: &Path) {
    let _ = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Which file it is: another one under the same name is another model.
fn identity(model: &Path) -> u64 {
    let facts = fs::metadata(model).ok();
    let changed = facts.as_ref().and_then(|facts| facts.modified().ok());
    let since =
        changed.and_then(|changed| changed.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let text = format!("{}\n{}\n{since:?}", model.display(), facts.map_or(0, |facts| facts.len()));
    hash(text.as_bytes())
}

/// FNV-1a: a name for a file, no protection.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// What was said is in these files, so they are their owner's alone.
#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path).map(drop)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<()> {
    fs::File::create(path).map(drop)
}

#[cfg(unix)]
fn restrict(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> io::Result<()> {
    Ok(())
}
