//! The task, from the command line, a file or standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context as _, ensure};

use super::args::RunArgs;

/// Maximum length of the instructions; no model reads more.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// File name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Returns the first message: the text, then the content of the file.
pub(super) fn read(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let text = args.words.as_deref().or(args.text.as_deref()).map(str::trim).filter(|text| !text.is_empty());
    let file = args.instructions.as_deref().map(file).transpose()?;
    Ok(match (text, file) {
        (Some(text), Some(file)) => Some(format!("{text}\n\n{file}")),
        (Some(text), None) => Some(text.to_owned()),
        (None, file) => file,
    })
}

fn file(path: &Path) -> anyhow::Result<String> {
    let (text, name) = if path == Path::new(STANDARD_INPUT) {
        (limited(io::stdin().lock()), "standard input".to_owned())
    } else {
        (File::open(path).and_then(limited), path.display().to_string())
    };
    let text =
        text.with_context(|| format!("The instructions in {name} cannot be read (-i {})", path.display()))?;
    ensure!(
        text.len() as u64 <= MAX_BYTES,
        "The instructions in {name} are larger than {MAX_BYTES} bytes. Give less, or let goose read the file itself."
    );
    let text = text.trim_end();
    ensure!(!text.trim().is_empty(), "The instructions in {name} are empty. Say what to do.");
    Ok(text.to_owned())
}

fn limited(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    Ok(text)
}
