//! A folder's files and folders, to see what was changed in it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// One entry of a folder.
#[derive(PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

/// Reads all that is in a folder, at any depth; links are not followed.
pub(crate) fn entries(folder: &Path) -> io::Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(&place)? {
            let path = entry?.path();
            let kind = fs::symlink_metadata(&path)?.file_type();
            let entry = if kind.is_dir() {
                left.push(path.clone());
                Entry::Folder
            } else if kind.is_symlink() {
                Entry::Link(fs::read_link(&path)?)
            } else {
                Entry::File(fs::read(&path)?)
            };
            found.insert(path.strip_prefix(folder).unwrap_or(&path).to_owned(), entry);
        }
    }
    Ok(found)
}
