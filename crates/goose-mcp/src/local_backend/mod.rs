//! [`LocalBackend`]: the files and programs of this machine.

mod replace;

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, PipeReader, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    process::ExitStatus,
    time::Duration,
};

use goose_extension::{
    Backend, CommandSpec, FileError, FileKind, FileRead, FileVersion, RunningCommand, StartedCommand,
    prelude::async_trait,
};
use goose_process::{Process, ProcessSpec, Stream};
use rustix::fs::OFlags;
use tokio::net::unix::pipe::Receiver;

/// The machine that goose runs on. Nothing here hangs: pipes and devices are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalBackend;

impl Backend for LocalBackend {
    fn is_local(&self) -> bool {
        true
    }

    fn read(&self, path: &Path, limit: u64) -> Result<FileRead, FileError> {
        let file = match open_nonblocking(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileRead::Missing),
            // Some things, such as sockets, cannot even be opened.
            Err(error) => match path.metadata() {
                Ok(metadata) if !metadata.is_file() => return Err(not_a_file(&metadata)),
                _ => return Err(error.into()),
            },
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(not_a_file(&metadata));
        }
        let version = version(&metadata);
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or(0));
        // Some files say that they are empty and are not.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(FileRead::TooLarge { size: metadata.len(), version });
        }
        Ok(FileRead::Content { bytes, version })
    }

    fn replace(&self, path: &Path, bytes: &[u8], expected: Option<&FileVersion>) -> Result<(), FileError> {
        replace::replace(path, bytes, expected)
    }

    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand> {
        let (reader, writer) = io::pipe()?;
        let mut spec = ProcessSpec::new(&command.program);
        spec.args(&command.args)
            .env_clear()
            .envs(&command.env)
            .current_dir(&command.working_dir)
            .without_terminal()
            .stdin(Stream::Null)
            .stdout(Stream::Fd(writer.try_clone()?.into()))
            .stderr(Stream::Fd(writer.into()));
        let process = goose_process::spawn(&spec)?;
        let pipe = reader.try_clone()?;
        Ok(StartedCommand {
            command: Box::new(LocalCommand { process, _pipe: pipe }),
            output: Box::new(Receiver::from_owned_fd(reader.into())?),
        })
    }
}

/// A command with the reading end of its output: a program that is asked to end may write something, and must not die of that
/// before it has cleaned up.
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

/// Opens a regular file for reading; `None` for everything else.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    let file = open_nonblocking(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

/// A pipe without a writer must not block the tool.
fn open_nonblocking(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)
}

fn version(metadata: &Metadata) -> FileVersion {
    FileVersion::new(format!("{}:{}:{:?}", metadata.ino(), metadata.size(), metadata.modified().ok()))
}

fn not_a_file(metadata: &Metadata) -> FileError {
    let kind = metadata.file_type();
    FileError::NotAFile(if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_fifo() {
        FileKind::Pipe
    } else if kind.is_socket() {
        FileKind::Socket
    } else {
        FileKind::Device
    })
}
