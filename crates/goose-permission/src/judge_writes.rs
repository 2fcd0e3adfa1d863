//! Records the files that a command is known to write, so that parallel tasks do not overwrite each other's
//! files. This does not affect the verdict.

use std::path::PathBuf;

use super::{
    judge::Judge,
    paths::Bases,
    protected::known_parts,
    secrets_below,
    shell::{self, Folders, Form, Word, WrittenFiles},
};

/// Maximum number of directory entries that are read for the wildcards of one command line.
pub(super) const MAX_WRITTEN: usize = 2_000;

impl Judge<'_> {
    /// Records the files that a command writes, in each folder that it may run in.
    pub(super) fn record_writes(&mut self, form: &Form, folders: &Folders, left: &mut usize) {
        if form.reads_only {
            return;
        }
        let WrittenFiles { named, copied } = shell::written_files(&form.words);
        if named.is_empty() && copied.is_none() {
            return;
        }
        let places = self.places(folders);
        let is_absolute =
            |word: &Word| word.pieces().first().is_some_and(|piece| piece.starts_with(['/', '~']));
        let is_known = |word: &Word| places.is_some() || is_absolute(word);
        let here = [self.bases.working.to_owned()];
        let mut found = Vec::new();
        for place in places.as_deref().unwrap_or(&here) {
            let bases = self.bases.at(place);
            let mut files = |word: &Word| if is_known(word) { files(bases, word, left) } else { Vec::new() };
            found.extend(named.iter().flat_map(&mut files));
            let Some((sources, target)) = &copied else { continue };
            for target in files(target) {
                if !target.is_dir() {
                    found.push(target);
                    continue;
                }
                let sources = sources.iter().filter(|source| !is_content(source)).flat_map(&mut files);
                found.extend(sources.filter_map(|source| Some(target.join(source.file_name()?))));
            }
        }
        found.retain(|file| !file.starts_with("/dev"));
        self.writes.extend(found);
    }
}

/// Returns the files that a word names now; none if that is only known at run time.
fn files(bases: Bases<'_>, word: &Word, left: &mut usize) -> Vec<PathBuf> {
    if let Some(text) = &word.text {
        return bases.resolve(text).into_iter().collect();
    }
    if !word.is_pattern() {
        return Vec::new();
    }
    let text = known_parts(word).join("*");
    expand(bases, &text, left).unwrap_or_default()
}

/// Returns the files that match a path with wildcards; `None` if there are too many.
pub(super) fn expand(bases: Bases<'_>, text: &str, left: &mut usize) -> Option<Vec<PathBuf>> {
    let star = text.find('*').unwrap_or(text.len());
    let (folder, pattern) = text.split_at(text[..star].rfind('/').map_or(0, |slash| slash + 1));
    match bases.resolve(if folder.is_empty() { "." } else { folder }) {
        Ok(folder) => secrets_below::expand(&folder, pattern, left),
        Err(_) => Some(Vec::new()),
    }
}

/// Returns true for `x/.`, which copies the content of a folder. Its files are not looked up.
fn is_content(word: &Word) -> bool {
    word.text.as_deref().is_some_and(|text| matches!(text.rsplit('/').next(), Some("." | "..")))
}
