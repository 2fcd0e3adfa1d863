//! developer reaches files and programs only through the backend of the call.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::ExitStatus,
    sync::{Arc, Mutex},
    time::Duration,
};

use goose_extension::{
    Backend, CallContext, CommandSpec, Extension as _, FileError, FileRead, FileTarget, FileVersion,
    RunningCommand, StartedCommand, prelude::async_trait,
};
use goose_mcp::{BuiltinOptions, Developer};
use serde_json::{Value, json};

/// Files in memory, and a shell that only repeats its command.
#[derive(Default)]
struct Memory {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    commands: Mutex<Vec<CommandSpec>>,
}

fn version(bytes: &[u8]) -> FileVersion {
    FileVersion::new(String::from_utf8_lossy(bytes))
}

impl Backend for Memory {
    fn read(&self, file: &FileTarget, limit: u64) -> Result<FileRead, FileError> {
        Ok(match self.files.lock().unwrap().get(&file.path) {
            None => FileRead::Missing,
            Some(bytes) if bytes.len() as u64 > limit => {
                FileRead::TooLarge { size: bytes.len() as u64, version: version(bytes) }
            }
            Some(bytes) => FileRead::Content { bytes: bytes.clone(), version: version(bytes) },
        })
    }

    fn replace(
        &self,
        file: &FileTarget,
        bytes: &[u8],
        expected: Option<&FileVersion>,
    ) -> Result<(), FileError> {
        let mut files = self.files.lock().unwrap();
        if files.get(&file.path).map(|bytes| version(bytes)).as_ref() != expected {
            return Err(FileError::Changed);
        }
        files.insert(file.path.clone(), bytes.to_vec());
        Ok(())
    }

    fn spawn(&self, command: CommandSpec) -> io::Result<StartedCommand> {
        let output = command.args.last().cloned().unwrap_or_default().into_string().unwrap();
        self.commands.lock().unwrap().push(command);
        Ok(StartedCommand {
            command: Box::new(Ended),
            output: Box::new(io::Cursor::new(output.into_bytes())),
        })
    }
}

/// A command that ended with code 3.
struct Ended;

#[async_trait]
impl RunningCommand for Ended {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        Ok(ExitStatus::from_raw(3 << 8))
    }

    async fn stop(mut self: Box<Self>, _grace: Duration) -> io::Result<ExitStatus> {
        self.wait().await
    }

    async fn release(mut self: Box<Self>) -> io::Result<ExitStatus> {
        self.wait().await
    }
}

#[tokio::test]
async fn read_write_edit_and_shell_use_the_backend_of_the_call() {
    let developer = Developer::new(&BuiltinOptions::new("/nowhere").with_environment([("A", "b")]));
    let memory = Arc::new(Memory::default());
    let folder = tempfile::tempdir().unwrap();
    let backend: Arc<dyn Backend> = Arc::clone(&memory) as _;
    let context = CallContext::new().with_working_dir(folder.path()).with_backend(backend);
    let call = async |tool: &str, arguments: Value| {
        let output = developer.call(tool, arguments.as_object().unwrap().clone(), &context).await.unwrap();
        (output.as_text(), output.is_error)
    };

    let (_, failed) = call("write", json!({ "path": "a.txt", "content": "one\n" })).await;
    assert!(!failed);
    call("edit", json!({ "path": "a.txt", "before": "one", "after": "two" })).await;
    assert_eq!(call("read", json!({ "path": "a.txt" })).await, ("1\ttwo".to_owned(), false));
    let expected = BTreeMap::from([(folder.path().join("a.txt"), b"two\n".to_vec())]);
    assert_eq!(*memory.files.lock().unwrap(), expected);

    let (output, failed) = call("shell", json!({ "command": "make" })).await;
    assert!(failed && output.contains("make") && output.contains("exit code 3"), "{output}");
    {
        let commands = memory.commands.lock().unwrap();
        assert_eq!((commands.len(), commands[0].working_dir.as_path()), (1, folder.path()));
        assert_eq!(commands[0].env.get(&OsString::from("A")), Some(&OsString::from("b")));
    }

    for (tool, arguments) in [
        ("tree", json!({ "path": "." })),
        ("search", json!({ "pattern": "x" })),
        ("analyze", json!({ "path": "." })),
    ] {
        let (output, failed) = call(tool, arguments).await;
        assert!(failed && output.contains("files on this machine"), "{tool}: {output}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing went past the backend");
}
