//! Writing a file where it is: for those that no other may take the place of. Several names may lead to it, its folder may
//! not be written, or it may be mounted.
//!
//! Who reads it meanwhile may see half of it. What goes wrong is put right again: a file that grows gets its new end first,
//! while the rest is still the old one.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
};

use super::MAX_FILE_BYTES;

/// Gives an open file, which is at its start, these bytes.
///
/// # Errors
///
/// Where it cannot be written; it is as before then, as far as the disk lets it.
pub(super) fn overwrite(file: &File, new: &[u8]) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut old = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut old)?;
    put(file, new, length).inspect_err(|_| {
        // Nothing more can be done where this fails as well.
        let _ = file.write_all_at(&old, 0).and_then(|()| file.set_len(length));
    })
}

fn put(file: &File, new: &[u8], length: u64) -> io::Result<()> {
    let common = new.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    file.write_all_at(&new[common..], common as u64)?;
    file.write_all_at(&new[..common], 0)?;
    file.set_len(new.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_and_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "old content").unwrap();
        for new in ["old content, and more", "short", "", "again"] {
            let file = File::options().read(true).write(true).open(&path).unwrap();
            overwrite(&file, new.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), new);
        }
    }

    #[test]
    fn what_cannot_be_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "old content").unwrap();
        overwrite(&File::open(&path).unwrap(), b"new").unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old content");
    }
}
