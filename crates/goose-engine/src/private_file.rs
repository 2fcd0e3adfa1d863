//! Files that contain a conversation: only their owner can read them, and they appear complete or not at all.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Extension of an unfinished file.
pub(crate) const UNFINISHED: &str = "tmp";

/// Writes to a temporary file in the same folder, then renames it.
#[expect(clippy::disallowed_methods, reason = "the engine depends on no other crate of goose")]
pub(crate) fn write(path: &Path, content: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    // No other writer uses this name now, in this process or another.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{number}.{UNFINISHED}", std::process::id()));
    let temporary = Path::new(&name);
    let written = create(temporary).and_then(content).and_then(|()| fs::rename(temporary, path));
    written.inspect_err(|_| drop(fs::remove_file(temporary)))
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
