//! Log files in the state folder: what goose's own code reports, without secrets.
//!
//! A line is handed to a thread, which is started with the first one; without lines, no file and no folder is
//! touched. There is one file per day and process-independent: all processes append to it. A full file is
//! followed by another one, and old files are removed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use goose::{config::Paths, session::clock};
use goose_extension::{HIDDEN, is_secret_variable, shown_text};
use goose_fs::create_private_dir;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

/// Maximum size of a file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Number of files of one day.
const MAX_FILES_OF_DAY: u32 = 4;

/// Number of files that are kept.
const MAX_FILES: usize = 10;

/// Maximum length of a line.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Maximum number of lines that wait for the thread; further ones are counted and dropped.
const MAX_WAITING: usize = 1024;

/// Length from which the value of a secret variable is searched for in lines.
const MIN_SECRET_CHARS: usize = 8;

/// Time for the last lines when goose ends.
const END_TIME: Duration = Duration::from_millis(500);

/// Pause between looks at the end of the thread.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Start of the names of files.
const PREFIX: &str = "goose-";

static LOG: OnceLock<Log> = OnceLock::new();

/// Lines on their way to the file.
struct Log {
    lines: Mutex<Option<SyncSender<Vec<u8>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    dropped: AtomicU64,
}

/// Writer of the lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogFile;

/// Waits for the last lines when it is dropped.
pub(crate) struct LogEnd;

/// Returns the folder of the log files.
pub(crate) fn folder(paths: &Paths) -> PathBuf {
    paths.state.join("logs")
}

/// Returns the log files, newest first.
pub(crate) fn files(paths: &Paths) -> Vec<PathBuf> {
    files_in(&folder(paths))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_log(path)).collect();
    files.sort_unstable_by(|one, other| other.cmp(one));
    files
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(PREFIX) && name.ends_with(".log")
}

impl MakeWriter<'_> for LogFile {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for LogFile {
    /// Takes one line. It is never an error: there is no other place to report it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let log = LOG.get_or_init(Log::start);
        let kept = line.get(..MAX_LINE_BYTES).unwrap_or(line).to_vec();
        let sent = log.lines.lock().as_ref().map(|lines| lines.try_send(kept).is_ok());
        if sent == Some(false) {
            log.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogEnd {
    fn drop(&mut self) {
        let Some(log) = LOG.get() else { return };
        drop(log.lines.lock().take());
        let Some(thread) = log.thread.lock().take() else { return };
        let mut left = END_TIME;
        while !thread.is_finished() && !left.is_zero() {
            std::thread::sleep(LOOK_AGAIN);
            left = left.saturating_sub(LOOK_AGAIN);
        }
    }
}

impl Log {
    fn start() -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || write_all(&receiver));
        // Without a thread, lines are dropped.
        let (sender, thread) = thread.ok().map(|thread| (sender, thread)).unzip();
        Self { lines: Mutex::new(sender), thread: Mutex::new(thread), dropped: AtomicU64::new(0) }
    }
}

/// Writes lines until the channel is closed.
fn write_all(lines: &Receiver<Vec<u8>>) {
    let Ok(paths) = Paths::from_env() else { return };
    let mut writer = LogWriter::new(folder(&paths));
    loop {
        match lines.recv_timeout(Duration::from_secs(60)) {
            Ok(line) => writer.write(&String::from_utf8_lossy(&line)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let dropped = LOG.get().map_or(0, |log| log.dropped.swap(0, Ordering::Relaxed));
        if dropped > 0 {
            writer.write(&format!("{dropped} lines are missing here: they came too fast\n"));
        }
    }
}

/// Open file, and its successors.
struct LogWriter {
    folder: PathBuf,
    /// Values of the environment that no line may have.
    secrets: Vec<String>,
    open: Option<(PathBuf, File)>,
}

impl LogWriter {
    fn new(folder: PathBuf) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let secret = |(name, value): &(String, String)| {
            value.chars().count() >= MIN_SECRET_CHARS && is_secret_variable(name, value)
        };
        Self { folder, secrets: variables.filter(secret).map(|(_, value)| value).collect(), open: None }
    }

    /// Appends a line. A failure is ignored, because a log must not stop anything.
    fn write(&mut self, line: &str) {
        let line = self.redacted(line);
        let Some(path) = self.current() else { return };
        if self.open.as_ref().is_none_or(|(open, _)| *open != path) {
            self.open = self.opened(&path).ok().map(|file| (path, file));
            self.remove_old();
        }
        if let Some((_, file)) = &mut self.open {
            // One call, so that lines of several processes do not mix.
            let _ = file.write_all(line.as_bytes());
        }
    }

    fn redacted(&self, line: &str) -> String {
        let hidden = |line: String, secret: &String| line.replace(secret.as_str(), HIDDEN);
        let mut line = shown_text(&self.secrets.iter().fold(line.to_owned(), hidden));
        // What a server or a tool has said must not look like more lines.
        let end = line.trim_end().len();
        line.truncate(end);
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).chain(['\n']).collect()
    }

    /// Returns the path for the next line; `None` if the files of the day are full.
    fn current(&self) -> Option<PathBuf> {
        let day = clock::now().to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string();
        let paths = (0..MAX_FILES_OF_DAY).map(|number| match number {
            0 => self.folder.join(format!("{PREFIX}{day}.log")),
            number => self.folder.join(format!("{PREFIX}{day}.{number}.log")),
        });
        let has_room = |path: &PathBuf| fs::metadata(path).map_or(true, |it| it.len() < MAX_FILE_BYTES);
        paths.into_iter().find(has_room)
    }

    fn opened(&self, path: &Path) -> io::Result<File> {
        create_private_dir(&self.folder)?;
        OpenOptions::new().create(true).append(true).mode(0o600).open(path)
    }

    fn remove_old(&self) {
        for old in files_in(&self.folder).iter().skip(MAX_FILES) {
            let _ = fs::remove_file(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_redacted_and_stay_one_line() {
        let writer =
            LogWriter { secrets: vec!["hunter2hunter2".to_owned()], ..LogWriter::new(PathBuf::new()) };
        let line = writer.redacted(
            "WARN x: error=\"no hunter2hunter2\nfor sk-proj-abcdefghij0123456789ABCDEFGHIJ\" --token abc\r\n",
        );
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(!line.contains("hunter2") && !line.contains("abcdefghij") && !line.contains("abc"), "{line}");
        assert!(line.starts_with("WARN x: error=\"no (hidden)"), "{line}");
    }

    #[test]
    fn full_files_are_followed_by_others_and_old_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("logs");
        fs::create_dir(&folder).unwrap();
        for day in 10..30 {
            goose_fs::open_private_file(&folder.join(format!("goose-2020-01-{day}.log"))).unwrap();
        }
        let mut writer = LogWriter { secrets: Vec::new(), ..LogWriter::new(folder.clone()) };
        for _ in 0..MAX_FILES_OF_DAY + 2 {
            writer.write("a line");
            if let Some((_, file)) = &writer.open {
                file.set_len(MAX_FILE_BYTES).unwrap();
            }
        }
        let names = || {
            let names =
                fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        assert_eq!(names().len(), MAX_FILES, "{:?}", names());
        assert_eq!(names().iter().filter(|name| !name.contains("2020")).count(), MAX_FILES_OF_DAY as usize);
    }
}
