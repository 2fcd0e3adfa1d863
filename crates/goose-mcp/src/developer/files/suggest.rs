//! Names that are like one that is not there: what a model meant, most likely.

use std::path::Path;

use goose_fs::Folder;

/// How many names of a folder are looked at.
const MAX_LOOKED_AT: usize = 5_000;

/// How many names are shown.
const MAX_SHOWN: usize = 5;

/// How long a name may be to be compared.
const MAX_NAME_CHARS: usize = 100;

/// What to say about a path that does not exist: how far it exists, and what there is instead.
pub(in super::super) fn hint(path: &Path) -> String {
    let Some((folder, opened, missing)) = deepest(path) else { return String::new() };
    let names = nearest(&opened, missing);
    let here = if path.parent() == Some(folder) {
        String::new()
    } else {
        format!(" The folder {} exists, but has no `{missing}`.", folder.display())
    };
    match names.as_slice() {
        [] => here,
        names => format!("{here} Similar names there: {}.", names.join(", ")),
    }
}

/// The deepest folder of a path that exists, and the name that is missing in it.
fn deepest(path: &Path) -> Option<(&Path, Folder, &str)> {
    path.ancestors().zip(path.ancestors().skip(1)).find_map(|(inner, outer)| {
        let name = inner.file_name()?.to_str()?;
        Some((outer, Folder::open(outer).ok()?, name))
    })
}

/// The names of a folder that are like another, best first.
fn nearest(folder: &Folder, wanted: &str) -> Vec<String> {
    let names = folder.names(MAX_LOOKED_AT).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let mut found: Vec<(usize, String)> =
        names.filter_map(|name| Some((difference(wanted, &name)?, name))).collect();
    found.sort();
    found.into_iter().take(MAX_SHOWN).map(|(_, name)| name).collect()
}

/// How different two names are; `None` where they have little in common.
fn difference(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    let stem = |name: &str| name.split('.').find(|part| !part.is_empty()).unwrap_or_default().to_owned();
    if stem(&wanted) == stem(&name) {
        return Some(0);
    }
    let [one, other] = [wanted, name].map(|name| name.chars().take(MAX_NAME_CHARS).collect::<String>());
    let distance = strsim::levenshtein(&one, &other);
    (distance * 3 <= one.chars().count().max(other.chars().count())).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_letters_or_stem() {
        assert_eq!(difference("main.rs", "main.rs"), Some(0));
        assert_eq!(difference("Main.py", "main.rs"), Some(0));
        assert_eq!(difference("mian.rs", "main.rs"), Some(2));
        assert_eq!(difference("main.rs", "Cargo.toml"), None);
        assert_eq!(difference("kitten_list", "sitting_list"), Some(3));
        assert_eq!(difference("größe_a", "größe_b"), Some(1));
    }
}
