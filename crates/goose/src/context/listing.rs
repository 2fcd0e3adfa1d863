//! A short list of the files in a folder, for models that are too small to explore it themselves.

use std::{collections::VecDeque, fs, path::Path};

use goose_extension::is_misleading;

/// Maximum number of names in the list.
const MAX_NAMES: usize = 40;

/// Maximum number of entries that are read from one folder.
const MAX_ENTRIES_READ: usize = 400;

/// Maximum depth.
const MAX_DEPTH: usize = 3;

/// Maximum length of a listed name, in bytes.
const MAX_NAME_BYTES: usize = 120;

/// Folders with generated or downloaded files.
const SKIPPED_FOLDERS: [&str; 5] = ["node_modules", "target", "__pycache__", "venv", "dist"];

/// Files of a folder.
pub(crate) struct Listing {
    /// One line with the names.
    pub(crate) text: String,
    /// Names; those of folders end with a slash.
    pub(crate) names: Vec<String>,
}

/// Lists the names in a folder, the upper levels first if there are many. Returns `None` if it cannot be
/// read.
pub(crate) fn brief(folder: &Path) -> Option<Listing> {
    fs::read_dir(folder).ok()?;
    let mut names = Vec::new();
    let mut waiting = VecDeque::from([(folder.to_path_buf(), String::new(), 1)]);
    while let Some((folder, before, depth)) = waiting.pop_front() {
        for (name, is_folder) in entries(&folder) {
            let shown = format!("{before}{name}{}", if is_folder { "/" } else { "" });
            if is_folder && depth < MAX_DEPTH && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                waiting.push_back((folder.join(&name), shown.clone(), depth + 1));
            }
            names.push(shown);
        }
        if names.len() > MAX_NAMES {
            break;
        }
    }
    let is_cut = names.len() > MAX_NAMES;
    names.truncate(MAX_NAMES);
    names.sort_unstable();
    let text = match (names.is_empty(), is_cut) {
        (true, _) => "Files here: none yet".to_owned(),
        (_, true) => format!("Files here: {}, and more", names.join(", ")),
        (_, false) => format!("Files here: {}", names.join(", ")),
    };
    Some(Listing { text, names })
}

/// Returns the entries of a folder by name, without hidden folders.
fn entries(folder: &Path) -> Vec<(String, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let named = entries.take(MAX_ENTRIES_READ).flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = is_folder && name.starts_with('.');
        let is_shown = !is_hidden && name.len() <= MAX_NAME_BYTES && !name.contains(is_misleading);
        is_shown.then_some((name, is_folder))
    });
    let mut named: Vec<(String, bool)> = named.collect();
    named.sort_unstable();
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_without_hidden_folders_and_not_too_deep() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(brief(folder.path()).unwrap().text, "Files here: none yet");
        for dir in ["src/a/b/c", "node_modules/x", ".git"] {
            fs::create_dir_all(folder.path().join(dir)).unwrap();
        }
        fs::write(folder.path().join("src/main.rs"), "").unwrap();
        fs::write(folder.path().join(".gitignore"), "").unwrap();
        let listed = brief(folder.path()).unwrap().text;
        assert_eq!(listed, "Files here: .gitignore, node_modules/, src/, src/a/, src/a/b/, src/main.rs");
        assert!(brief(&folder.path().join("nowhere")).is_none());
    }

    #[test]
    fn many_names_are_cut_and_the_upper_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("zz")).unwrap();
        for number in 0..100 {
            fs::write(folder.path().join(format!("zz/{number}")), "").unwrap();
        }
        let listed = brief(folder.path()).unwrap().text;
        assert!(listed.contains(" zz/,") && listed.ends_with(", and more"), "{listed}");
        assert_eq!(listed.matches(", ").count(), MAX_NAMES);
    }
}
