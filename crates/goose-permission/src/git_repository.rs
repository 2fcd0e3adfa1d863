//! Finds git repositories that make git run programs when it only reads.
//!
//! `git status` runs the programs in `core.fsmonitor`, `diff.external`, `filter.*.clean` and others, and an
//! unpacked archive may contain a `.git` with such a configuration. git therefore counts as read-only only if
//! every repository that it may find has only settings that are known to run nothing. The user's own
//! configuration (`~/.gitconfig`) is trusted.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::paths::{self, PathError};

/// Largest configuration file that is read.
const MAX_CONFIG_BYTES: u64 = 256 * 1024;

/// Maximum number of bytes that are read for one command, from all repositories. An index has about 100 bytes
/// for each file.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum number of repositories that are checked for one command: those in parent folders, and submodules.
const MAX_REPOSITORIES: usize = 64;

/// Hook that git runs even when it only reads, because it refreshes the index.
const HOOK: &str = "post-index-change";

/// Mode of a submodule in an index, as stored.
const SUBMODULE_MODE: [u8; 4] = [0, 0, 0xE0, 0];

/// Sections in which no key runs a program or reads another file.
const HARMLESS_SECTIONS: [&str; 11] =
    ["advice", "author", "branch", "color", "column", "committer", "gc", "gitflow", "http", "i18n", "user"];

/// Keys in other sections that run no program and read no other file, with any subsection.
const HARMLESS_KEYS: [&str; 74] = [
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.checkstat",
    "core.commentchar",
    "core.commitgraph",
    "core.compression",
    "core.deltabasecachelimit",
    "core.eol",
    "core.filemode",
    "core.fscache",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.multipackindex",
    "core.packedgitlimit",
    "core.packedgitwindowsize",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.whitespace",
    "commit.gpgsign",
    "commit.verbose",
    "diff.algorithm",
    "diff.colormoved",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "fetch.parallel",
    "fetch.prune",
    "fetch.prunetags",
    "index.threads",
    "init.defaultbranch",
    "lfs.access",
    "lfs.locksverify",
    "lfs.repositoryformatversion",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.follow",
    "merge.conflictstyle",
    "merge.ff",
    "pack.threads",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "receive.denycurrentbranch",
    "remote.fetch",
    "remote.gh-resolved",
    "remote.pushurl",
    "remote.tagopt",
    "remote.url",
    "rerere.enabled",
    "status.showuntrackedfiles",
    "submodule.active",
    "submodule.branch",
    "submodule.url",
    "tag.gpgsign",
];

/// Reason why a read-only git command may run a program, or read files elsewhere.
#[derive(Debug, thiserror::Error)]
pub(super) enum RepositoryRisk {
    #[error(transparent)]
    Folder(PathError),
    #[error("there are more than {MAX_REPOSITORIES} repositories to check")]
    TooMany,
    #[error("the repository sets `{key}` (`{}`), which may make git run a program", file.display())]
    Setting { key: String, file: PathBuf },
    #[error("git runs the hook `{}`", .0.display())]
    Hook(PathBuf),
    #[error("`core.hooksPath` in `{}` is not understood", .0.display())]
    HooksPath(PathBuf),
    #[error("the index of `{}` is split, which is not supported", .0.display())]
    SplitIndex(PathBuf),
    #[error("`{}` has a format that is not supported", .0.display())]
    UnknownFormat(PathBuf),
    #[error("`{}` is not understood", .0.display())]
    NotUnderstood(PathBuf),
    #[error("`{}` cannot be read: {error}", file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("`{}` cannot be read: it is not a regular file, or too large", .0.display())]
    NotRegular(PathBuf),
}

/// Returns the reason why a read-only git command in this folder may run a program or read files elsewhere;
/// `None` if it cannot.
pub(super) fn risk(folder: &Path) -> Option<RepositoryRisk> {
    let folder = match paths::resolve(folder) {
        Ok(folder) => folder,
        Err(error) => return Some(RepositoryRisk::Folder(error)),
    };
    // git uses the first valid repository. With all of them checked, it does not matter which one that is.
    let pending = folder.ancestors().map(Path::to_owned).collect();
    Search { pending, looked_at: 0, bytes_left: MAX_BYTES }.run().err()
}

/// Returns true if the repository with this working tree has files of a folder in its index.
pub(super) fn tracks(root: &Path, folder: &Path) -> bool {
    let Some(name) = folder.strip_prefix(root).ok().and_then(Path::to_str) else { return false };
    let mut search = Search { pending: Vec::new(), looked_at: 0, bytes_left: MAX_BYTES };
    let Ok(Some(repository)) = search.linked(&root.join(".git")) else { return false };
    let Ok(Some(index)) = search.read(&repository.join("index"), MAX_BYTES) else { return false };
    let mut is_found = false;
    let _ = for_each_entry(&index, |_, entry| {
        is_found =
            name.is_empty() || entry.strip_prefix(name.as_bytes()).is_some_and(|it| it.starts_with(b"/"));
        (!is_found).then_some(())
    });
    is_found
}

/// Returns true if git may take a folder for a repository or its working tree.
pub(super) fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok() || is_bare(folder)
}

fn is_bare(folder: &Path) -> bool {
    let has = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    has(&"HEAD") && ["objects", "refs", "commondir"].iter().any(has)
}

/// Repositories that git may open.
struct Search {
    /// Folders that may be repositories or their working trees.
    pending: Vec<PathBuf>,
    looked_at: usize,
    bytes_left: u64,
}

impl Search {
    fn run(&mut self) -> Result<(), RepositoryRisk> {
        while let Some(folder) = self.pending.pop() {
            let dot_git = folder.join(".git");
            if let Some(repository) = self.linked(&dot_git)? {
                self.repository(&repository, &folder)?;
            }
            if is_bare(&folder) {
                self.repository(&folder, &folder)?;
            }
        }
        Ok(())
    }

    fn repository(&mut self, repository: &Path, work: &Path) -> Result<(), RepositoryRisk> {
        self.looked_at += 1;
        if self.looked_at > MAX_REPOSITORIES {
            return Err(RepositoryRisk::TooMany);
        }
        let common = match self.read(&repository.join("commondir"), MAX_CONFIG_BYTES)? {
            Some(text) => Some(repository.join(line(&text, &repository.join("commondir"))?)),
            None => None,
        };
        let repositories = [Some(repository), common.as_deref()];
        for repository in repositories.into_iter().flatten() {
            for name in ["config", "config.worktree"] {
                let file = repository.join(name);
                if let Some(text) = self.read(&file, MAX_CONFIG_BYTES)? {
                    Config { file: &file, repository, work }.check(&text)?;
                }
            }
            has_no_hook(&repository.join("hooks"))?;
        }
        self.submodules(repository, work)
    }

    /// Adds the submodules: git reads those that are checked out, and each has its own configuration.
    fn submodules(&mut self, repository: &Path, work: &Path) -> Result<(), RepositoryRisk> {
        let file = repository.join("index");
        let is_shared = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("sharedindex.");
        if fs::read_dir(repository).is_ok_and(|entries| entries.flatten().any(is_shared)) {
            return Err(RepositoryRisk::SplitIndex(repository.to_owned()));
        }
        let Some(index) = self.read(&file, MAX_BYTES)? else { return Ok(()) };
        // Fast path: most repositories have no submodules.
        if !index.windows(4).any(|bytes| bytes == SUBMODULE_MODE) {
            return Ok(());
        }
        let submodules = submodules(&index).ok_or(RepositoryRisk::UnknownFormat(file))?;
        self.pending.extend(submodules.into_iter().map(|path| work.join(path)));
        Ok(())
    }

    /// Returns the repository of a `.git`: the folder itself, or the one that the file names.
    fn linked(&mut self, dot_git: &Path) -> Result<Option<PathBuf>, RepositoryRisk> {
        let Ok(metadata) = fs::metadata(dot_git) else { return Ok(None) };
        if metadata.is_dir() {
            return Ok(Some(dot_git.to_owned()));
        }
        let text = self.read(dot_git, MAX_CONFIG_BYTES)?.unwrap_or_default();
        let text = line(&text, dot_git)?;
        let Some(path) = text.strip_prefix("gitdir:") else { return Ok(None) };
        Ok(Some(dot_git.parent().unwrap_or(dot_git).join(path.trim_start())))
    }

    /// Returns the content of a file; `None` if the file does not exist.
    fn read(&mut self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, RepositoryRisk> {
        let unreadable = |error: io::Error| RepositoryRisk::Unreadable { file: path.to_owned(), error };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        // Reading from a pipe would block forever.
        if !metadata.is_file() || metadata.len() > limit.min(self.bytes_left) {
            return Err(RepositoryRisk::NotRegular(path.to_owned()));
        }
        self.bytes_left -= metadata.len();
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        file.take(metadata.len()).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some(bytes))
    }
}

/// Returns the only line of a file.
fn line<'t>(bytes: &'t [u8], file: &Path) -> Result<&'t str, RepositoryRisk> {
    let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end_matches(['\n', '\r']);
    let is_plain = !text.is_empty() && !text.contains(char::is_control);
    is_plain.then_some(text).ok_or_else(|| RepositoryRisk::NotUnderstood(file.to_owned()))
}

fn has_no_hook(folder: &Path) -> Result<(), RepositoryRisk> {
    let hook = folder.join(HOOK);
    match hook.symlink_metadata() {
        Ok(_) => Err(RepositoryRisk::Hook(hook)),
        Err(_) => Ok(()),
    }
}

/// A configuration file, and the folders that its paths are relative to.
struct Config<'a> {
    file: &'a Path,
    repository: &'a Path,
    work: &'a Path,
}

impl Config<'_> {
    /// Parses a simple subset of git's configuration syntax. Everything else is an error.
    fn check(&self, text: &[u8]) -> Result<(), RepositoryRisk> {
        let unclear = || RepositoryRisk::NotUnderstood(self.file.to_owned());
        let text = std::str::from_utf8(text).map_err(|_| unclear())?;
        let (mut section, mut part) = (None, None);
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.ends_with('\\') || line.contains(|c: char| c.is_control() && c != '\t') {
                return Err(unclear());
            }
            let line = line.trim_matches([' ', '\t']);
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if line.starts_with('[') {
                (section, part) =
                    header(line).map(|(section, part)| (Some(section), part)).ok_or_else(unclear)?;
                continue;
            }
            let (name, value) = line.split_once('=').map_or((line, ""), |(name, value)| (name, value));
            let name = name.trim_matches([' ', '\t']).to_ascii_lowercase();
            let section = section.as_deref().filter(|_| is_name(&name)).ok_or_else(unclear)?;
            self.setting(section, part, &name, value.trim_matches([' ', '\t']))?;
        }
        Ok(())
    }

    fn setting(
        &self,
        section: &str,
        part: Option<&str>,
        name: &str,
        value: &str,
    ) -> Result<(), RepositoryRisk> {
        let key = format!("{section}.{name}");
        let is_harmless = match key.as_str() {
            "core.hookspath" => return self.hooks_path(value),
            "core.worktree" => self.is_own_folder(value),
            // `[diff "x"]` configures a program; `[diff]` does not.
            _ if part.is_some() && matches!(section, "core" | "diff" | "extensions" | "log") => false,
            _ => HARMLESS_SECTIONS.contains(&section) || HARMLESS_KEYS.contains(&key.as_str()),
        };
        let part = part.map(|part| format!(".{part}")).unwrap_or_default();
        is_harmless.then_some(()).ok_or_else(|| {
            let key = super::judge::shown(&format!("{section}{part}.{name}"));
            RepositoryRisk::Setting { key, file: self.file.to_owned() }
        })
    }

    /// Checks the hook that runs when git only reads.
    fn hooks_path(&self, value: &str) -> Result<(), RepositoryRisk> {
        if value.is_empty() || value.contains(['"', '\\', '#', ';']) || value.starts_with(['~', '%']) {
            return Err(RepositoryRisk::HooksPath(self.file.to_owned()));
        }
        [self.work, self.repository].iter().try_for_each(|base| has_no_hook(&base.join(value)))
    }

    /// Returns true if the working tree is the repository's own. Otherwise git would show other files.
    fn is_own_folder(&self, value: &str) -> bool {
        let is_plain = !value.is_empty() && !value.contains(['"', '\\', '#', ';']);
        let (named, own) = (paths::resolve(&self.repository.join(value)), paths::resolve(self.work));
        is_plain && matches!((named, own), (Ok(named), Ok(own)) if named == own)
    }
}

/// Returns the section in lower case, and the subsection in quotes.
fn header(line: &str) -> Option<(String, Option<&str>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (section, part) = match inner.split_once(' ') {
        Some((section, part)) => {
            (section, Some(part.trim_matches(' ').strip_prefix('"')?.strip_suffix('"')?))
        }
        None => (inner, None),
    };
    let is_plain = part.is_none_or(|part| !part.contains(['"', '\\']));
    (is_plain && is_name(section)).then(|| (section.to_ascii_lowercase(), part))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the paths of the submodules in an index.
fn submodules(index: &[u8]) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for_each_entry(index, |mode, name| {
        if mode == SUBMODULE_MODE {
            found.push(PathBuf::from(std::str::from_utf8(name).ok()?));
        }
        Some(())
    })?;
    Some(found)
}

/// Calls a function with the mode and the name of each entry of an index of version 2 or 3, until it returns
/// `None`. Returns `None` then, and if the index is not understood.
fn for_each_entry(index: &[u8], mut each: impl FnMut(&[u8], &[u8]) -> Option<()>) -> Option<()> {
    /// Offsets in an entry with object names of 20 bytes.
    const MODE: usize = 24;
    const FLAGS: usize = 60;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let (magic, version, count) = (index.get(..4)?, number(4)?, number(8)?);
    if magic != b"DIRC" || !matches!(version, 2 | 3) {
        return None;
    }
    let mut at = 12;
    for _ in 0..count {
        let flags = u16::from_be_bytes(index.get(at + FLAGS..at + FLAGS + 2)?.try_into().ok()?);
        let is_extended = version == 3 && flags & 0x4000 != 0;
        let start = at + FLAGS + 2 + if is_extended { 2 } else { 0 };
        let length = index.get(start..)?.iter().position(|byte| *byte == 0)?;
        each(index.get(at + MODE..at + MODE + 4)?, index.get(start..start + length)?)?;
        // Names are padded with one to eight zeros, so that entries start at multiples of eight.
        at += (start + length - at + 8) & !7;
    }
    Some(())
}
