//! [`LocalBackend`]: the files and programs of this machine.

mod replace;

use std::{
    fs::{File, Metadata},
    io::{self, PipeReader, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::ExitStatus,
    time::Duration,
};

use goose_extension::{
    Backend, CommandSpec, FileError, FileKind, FileRead, FileTarget, FileVersion, HardLinks, RunningCommand,
    StartedCommand, prelude::async_trait,
};
use goose_fs::{Folder, is_link, open_file};
use goose_process::{Process, ProcessSpec, Stream};
use rustix::fs::{FileType, fstat};
use tokio::net::unix::pipe::Receiver;

/// The machine that goose runs on. Nothing here hangs: pipes and devices are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalBackend;

impl Backend for LocalBackend {
    fn is_local(&self) -> bool {
        true
    }

    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError> {
        let (opened, metadata) = match open_regular(file.hard_links, || open_file(&file.path)) {
            Ok(opened) => opened,
            Err(FileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(FileRead::Missing);
            }
            Err(FileError::Io(error)) => return Err(unopened(&file.path, error)),
            Err(error) => return Err(error),
        };
        let version = version(&metadata);
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or(0));
        // Some files say that they are empty and are not.
        opened.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(FileRead::TooLarge { size: metadata.len(), version });
        }
        Ok(FileRead::Content { bytes, version })
    }

    fn replace(
        &self,
        file: &FileTarget,
        bytes: &[u8],
        expected: Option<&FileVersion>,
    ) -> Result<(), FileError> {
        replace::replace(file, bytes, expected)
    }

    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand> {
        let (reader, writer) = io::pipe()?;
        let folder = Some(&command.working_dir).filter(|folder| folder.is_absolute());
        let spec = ProcessSpec {
            args: command.args,
            env: folder.map(|folder| ("PWD".into(), Some(folder.into()))).into_iter().collect(),
            base_env: Some(command.env),
            cwd: Some(command.working_dir),
            stdin: Stream::Null,
            stdout: Stream::Fd(writer.try_clone()?.into()),
            stderr: Stream::Fd(writer.into()),
            has_terminal: false,
            ..ProcessSpec::new(command.program)
        };
        let process = goose_process::spawn(&spec)?;
        let pipe = reader.try_clone()?;
        Ok(StartedCommand {
            command: Box::new(LocalCommand { process, _pipe: pipe }),
            output: Box::new(Receiver::from_owned_fd(reader.into())?),
        })
    }
}

/// A command with the reading end of its output: a program that is asked to end may write something, and must not die
/// of that before it has cleaned up.
struct LocalCommand {
    process: Process,
    _pipe: PipeReader,
}

#[async_trait]
impl RunningCommand for LocalCommand {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    async fn stop(self: Box<Self>, grace: Duration) -> io::Result<ExitStatus> {
        let Self { process, _pipe: pipe } = *self;
        let stopped = process.stop(grace).await;
        drop(pipe);
        stopped
    }

    async fn release(self: Box<Self>) -> io::Result<ExitStatus> {
        self.process.release().await
    }
}

/// Opens a regular file that may be used, by a name that another program may replace meanwhile.
pub(crate) fn open_regular(
    hard_links: HardLinks,
    open: impl Fn() -> io::Result<File>,
) -> Result<(File, Metadata), FileError> {
    hard_links.open(|| {
        let file = open()?;
        let metadata = regular(&file, hard_links)?;
        Ok((file, metadata))
    })
}

/// The metadata of an open file, where it is a regular one that may be used.
fn regular(file: &File, hard_links: HardLinks) -> Result<Metadata, FileError> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::NotAFile(kind(FileType::from_raw_mode(
            fstat(file).map_err(io::Error::from)?.st_mode,
        ))));
    }
    if hard_links.permit(&metadata) { Ok(metadata) } else { Err(FileError::HardLinked) }
}

/// The reason why a path could not be opened. Some things, such as sockets, never can.
fn unopened(path: &Path, error: io::Error) -> FileError {
    let stat = Folder::open(Path::new("/")).and_then(|root| root.stat(path));
    match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile | FileType::Symlink) | Err(_) => failed(error),
        Ok(other) => FileError::NotAFile(kind(other)),
    }
}

fn failed(error: io::Error) -> FileError {
    if is_link(&error) { FileError::Moved } else { error.into() }
}

fn version(metadata: &Metadata) -> FileVersion {
    let (device, inode) = (metadata.dev(), metadata.ino());
    FileVersion::new(format!("{device}:{inode}:{}:{:?}", metadata.size(), metadata.modified().ok()))
}

fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::Directory => FileKind::Folder,
        FileType::Fifo => FileKind::Pipe,
        FileType::Socket => FileKind::Socket,
        _ => FileKind::Device,
    }
}
