//! The task, from the command line, a file or standard input.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    path::Path,
};

use anyhow::{Context as _, ensure};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, fstat},
};

use super::args::RunArgs;
use crate::stderr;

/// Maximum length of the instructions; no model reads more.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum length of piped input, which is cut: a log or a diff is useful without its end.
const MAX_PIPED_BYTES: u64 = 512 * 1024;

/// Time that a pipe has to deliver its first byte if there may be no input. Some programs leave a pipe open that
/// they never write to.
const PIPE_WAIT_SECONDS: i64 = 3;

/// File name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Returns the first message: the text, then the content of the file or of standard input.
pub(super) fn read(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let text = args.words.as_deref().or(args.text.as_deref()).map(str::trim).filter(|text| !text.is_empty());
    let file = match args.instructions.as_deref() {
        Some(path) => Some(file(path)?),
        None if text.is_some() || args.conversation.resume || args.recipe.recipe.is_some() => {
            piped(Wait::Briefly)?
        }
        None => piped(Wait::UntilItComes)?,
    };
    Ok(match (text, file) {
        (Some(text), Some(file)) => Some(format!("{text}\n\n{file}")),
        (Some(text), None) => Some(text.to_owned()),
        (None, file) => file,
    })
}

fn file(path: &Path) -> anyhow::Result<String> {
    let (bytes, name) = if path == Path::new(STANDARD_INPUT) {
        (limited(io::stdin().lock(), MAX_BYTES), "standard input".to_owned())
    } else {
        (File::open(path).and_then(|file| limited(file, MAX_BYTES)), path.display().to_string())
    };
    let bytes = bytes
        .with_context(|| format!("The instructions in {name} cannot be read (-i {})", path.display()))?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "The instructions in {name} are larger than {MAX_BYTES} bytes. Give less, or let goose read the file itself."
    );
    let text = text(&bytes, &name);
    ensure!(!text.trim().is_empty(), "The instructions in {name} are empty. Say what to do.");
    Ok(text)
}

/// Wait for the first byte of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// There may be no input: goose has a task, or none is expected.
    Briefly,
    UntilItComes,
}

/// Returns what is piped into goose, if anything is.
pub(super) fn piped(wait: Wait) -> anyhow::Result<Option<String>> {
    let input = io::stdin();
    if input.is_terminal() || !may_have_text(&input, wait) {
        return Ok(None);
    }
    let mut bytes = limited(input.lock(), MAX_PIPED_BYTES).context("Standard input cannot be read")?;
    let is_cut = bytes.len() as u64 > MAX_PIPED_BYTES;
    bytes.truncate(MAX_PIPED_BYTES as usize);
    let mut text = text(&bytes, "standard input");
    if is_cut {
        let limit = MAX_PIPED_BYTES / 1024;
        stderr::line(format_args!(
            "Standard input is longer than {limit} KB. goose uses the first {limit} KB; write it to a file and name that instead."
        ));
        text.push_str(&format!("\n\n[Cut after {limit} KB.]"));
    }
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Returns true for a file, and for a pipe that something comes from.
fn may_have_text(input: &io::Stdin, wait: Wait) -> bool {
    let Ok(status) = fstat(input) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => true,
        FileType::Fifo | FileType::Socket if wait == Wait::Briefly => {
            let wait = Timespec { tv_sec: PIPE_WAIT_SECONDS, tv_nsec: 0 };
            let mut descriptors = [PollFd::new(input, PollFlags::IN)];
            poll(&mut descriptors, Some(&wait)).is_ok_and(|ready| ready > 0)
        }
        FileType::Fifo | FileType::Socket => true,
        _ => false,
    }
}

/// Returns the text of these bytes, with a notice if some of them are no text.
fn text(bytes: &[u8], name: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        stderr::line(format_args!(
            "Some bytes in {name} are not UTF-8 text. They are replaced by `\u{fffd}`."
        ));
    }
    text.trim_end().to_owned()
}

/// Reads at most one byte more than the limit.
fn limited(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
