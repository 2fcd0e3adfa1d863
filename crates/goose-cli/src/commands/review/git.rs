//! [`Repository`]: what git says about a change: its files, and the patch of each of them.
//!
//! git runs without a pager, prompts, locks and a terminal, and starts none of the programs that a configuration may
//! name for differences. Output is read up to a limit. Paths are separated by NUL and passed literally, because they
//! are untrusted.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use goose_process::{ProcessSpec, Stream, Tail};
use tokio::{io::AsyncReadExt as _, time::timeout};

use super::report::Scope;

/// Time limit of one call of git.
const GIT_TIME: Duration = Duration::from_secs(60);

/// Largest list of changed files.
const MAX_LIST_BYTES: u64 = 4 * 1024 * 1024;

/// Largest output that has a single value.
const MAX_VALUE_BYTES: u64 = 64 * 1024;

/// Largest patch of a file that is read. Only its beginning is reviewed if it is long.
const MAX_PATCH_BYTES: u64 = 512 * 1024;

/// Options of git before its command.
const OPTIONS: [&str; 8] = [
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "diff.relative=false",
    "-c",
    "diff.interHunkContext=0",
];

/// Options of a comparison. A configuration can neither change the form nor start programs.
const DIFF: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--find-renames",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--unified=6",
];

/// The mode of a submodule in a list of files.
const SUBMODULE: &str = "160000";

/// The separator of a range that begins where both ends parted.
const SINCE_PARTING: &str = "...";

/// A repository with a working tree.
#[derive(Debug)]
pub(super) struct Repository {
    /// Its top folder, which paths are relative to.
    pub(super) root: PathBuf,
}

/// Two states of the repository to compare.
#[derive(Debug)]
pub(super) struct Comparison {
    from: String,
    to: Side,
}

/// The newer side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    WorkingTree,
    Index,
    Commit(String),
}

/// A file that changed.
#[derive(Debug)]
pub(super) struct ListedFile {
    path: OsString,
    /// Its name before it was renamed.
    old_path: Option<OsString>,
    pub(super) kind: ChangeKind,
}

/// The way in which a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Added,
    Removed,
    Modified,
    Renamed,
    /// A new file that git does not track.
    Untracked,
    Submodule,
}

/// Output of git.
struct Output {
    bytes: Vec<u8>,
    /// True if there was more.
    is_cut: bool,
    code: Option<i32>,
    errors: String,
}

impl ListedFile {
    pub(super) fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    pub(super) fn old_path(&self) -> Option<String> {
        Some(self.old_path.as_ref()?.to_string_lossy().into_owned())
    }
}

impl Repository {
    /// Finds the repository around a folder.
    ///
    /// # Errors
    ///
    /// Fails if git is missing, or the folder is in no working tree.
    pub(super) async fn find(folder: &Path) -> anyhow::Result<Self> {
        let here = Self { root: folder.to_owned() };
        let output = here.git(["rev-parse", "--show-toplevel"], MAX_VALUE_BYTES).await?;
        let shown = folder.display();
        if output.errors.contains("not a git repository") {
            bail!("{shown} is not in a git repository. goose reviews the changes that git knows.");
        }
        let root = here.value(output).with_context(|| format!("there is no working tree in {shown}"))?;
        Ok(Self { root: PathBuf::from(OsString::from_vec(root)) })
    }

    /// Finds what a scope compares.
    ///
    /// # Errors
    ///
    /// Fails if a revision is unknown.
    pub(super) async fn comparison(&self, scope: &Scope) -> anyhow::Result<Comparison> {
        let (from, to) = match scope {
            Scope::WorkingTree => (self.head().await?, Side::WorkingTree),
            Scope::Staged => (self.head().await?, Side::Index),
            Scope::Range(range) => {
                let (from, to) = ends(range);
                let from = self.commit(from, range).await?;
                match to {
                    None => (from, Side::WorkingTree),
                    Some(to) => {
                        let to = self.commit(to, range).await?;
                        let is_since_parting = range.contains(SINCE_PARTING);
                        let from =
                            if is_since_parting { self.parting(&from, &to, range).await? } else { from };
                        (from, Side::Commit(to))
                    }
                }
            }
        };
        Ok(Comparison { from, to })
    }

    /// Lists the files that changed, also those that are new and not ignored.
    ///
    /// # Errors
    ///
    /// Fails if git does, or the list is too long.
    pub(super) async fn files(&self, comparison: &Comparison) -> anyhow::Result<Vec<ListedFile>> {
        let output = self.git(comparison.diff(&["--raw", "-z"], []), MAX_LIST_BYTES).await?;
        let mut files = listed(&self.complete(output)?);
        if comparison.to == Side::WorkingTree {
            let options = ["ls-files", "--others", "--exclude-standard", "-z"];
            let output = self.git(options, MAX_LIST_BYTES).await?;
            let new = self.complete(output)?;
            let new = new.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            files.extend(new.map(|path| ListedFile {
                // A name that ends so is another repository.
                kind: if path.ends_with(b"/") { ChangeKind::Submodule } else { ChangeKind::Untracked },
                path: OsString::from_vec(path.to_vec()),
                old_path: None,
            }));
        }
        Ok(files)
    }

    /// Returns the patch of a file, or its beginning if it is long.
    ///
    /// # Errors
    ///
    /// Fails if git does.
    pub(super) async fn patch(&self, comparison: &Comparison, file: &ListedFile) -> anyhow::Result<String> {
        let output = if file.kind == ChangeKind::Untracked {
            let mut path = OsString::from("./");
            path.push(&file.path);
            let words = DIFF.into_iter().chain(["--no-index", "--", "/dev/null"]).map(OsString::from);
            let mut output = self.git(words.chain([path]), MAX_PATCH_BYTES).await?;
            // This comparison reports a difference by its exit code.
            output.code = output.code.filter(|code| *code != 1).or(Some(0));
            output
        } else {
            let paths = file.old_path.iter().chain([&file.path]).cloned();
            self.git(comparison.diff(&[], paths), MAX_PATCH_BYTES).await?
        };
        if !output.is_cut {
            output.check()?;
        }
        Ok(String::from_utf8_lossy(&output.bytes).into_owned())
    }

    /// Returns the last commit, or the empty tree before the first one.
    async fn head(&self) -> anyhow::Result<String> {
        if let Some(head) = self.revision("HEAD").await? {
            return Ok(head);
        }
        let output = self.git(["hash-object", "-t", "tree", "/dev/null"], MAX_VALUE_BYTES).await?;
        Ok(String::from_utf8(self.value(output)?)?)
    }

    async fn commit(&self, name: &str, range: &str) -> anyhow::Result<String> {
        let found = if name.starts_with('-') { None } else { self.revision(name).await? };
        found.ok_or_else(|| {
            anyhow!(
                "git knows no revision '{name}', so '{range}' cannot be reviewed. `git branch -a` and `git log` show what there is."
            )
        })
    }

    /// Returns the id of a commit, if there is one of this name.
    async fn revision(&self, name: &str) -> anyhow::Result<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let output = self.git(["rev-parse", "--verify", "--quiet", &name], MAX_VALUE_BYTES).await?;
        match output.code {
            Some(0) => Ok(Some(String::from_utf8(self.value(output)?)?)),
            _ => Ok(None),
        }
    }

    /// Returns the last commit that both sides have.
    async fn parting(&self, from: &str, to: &str, range: &str) -> anyhow::Result<String> {
        let output = self.git(["merge-base", from, to], MAX_VALUE_BYTES).await?;
        ensure!(output.code == Some(0), "the ends of '{range}' have no commit in common");
        Ok(String::from_utf8(self.value(output)?)?)
    }

    /// Returns a complete list.
    fn complete(&self, output: Output) -> anyhow::Result<Vec<u8>> {
        ensure!(
            !output.is_cut,
            "too many files have changed in {}. Review fewer at once: name a range, or commit in parts.",
            self.root.display()
        );
        output.check()?;
        Ok(output.bytes)
    }

    /// Returns a single value, without the end of its line.
    fn value(&self, output: Output) -> anyhow::Result<Vec<u8>> {
        let mut bytes = self.complete(output)?;
        bytes.pop_if(|last| *last == b'\n');
        Ok(bytes)
    }

    async fn git(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        limit: u64,
    ) -> anyhow::Result<Output> {
        let mut spec = ProcessSpec::new("git");
        spec.args(OPTIONS).args(arguments).current_dir(&self.root).without_terminal();
        spec.envs([("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")]);
        spec.stdin(Stream::Null).stdout(Stream::Piped).stderr(Stream::Piped);
        timeout(GIT_TIME, output(&spec, limit))
            .await
            .map_err(|_| anyhow!("git did not answer within {} seconds", GIT_TIME.as_secs()))?
    }
}

impl Comparison {
    /// Returns the arguments of a comparison, of all files or of some.
    fn diff(&self, options: &[&str], paths: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let sides = match &self.to {
            Side::WorkingTree => vec![self.from.as_str()],
            Side::Index => vec!["--cached", &self.from],
            Side::Commit(id) => vec![self.from.as_str(), id],
        };
        let words = DIFF.iter().chain(options).copied().chain(sides).chain(["--"]);
        words.map(OsString::from).chain(paths).collect()
    }

    /// Says what the files on disk may have that is not reviewed.
    pub(super) fn disk(&self) -> &'static str {
        match self.to {
            Side::WorkingTree => "",
            Side::Index => "The files on disk may have further changes, which are not staged.",
            Side::Commit(_) => {
                "The files on disk are those of the working tree, which may differ from the reviewed commits."
            }
        }
    }
}

impl Output {
    fn check(&self) -> anyhow::Result<()> {
        let said = self.errors.trim();
        let said = if said.is_empty() { "it does not say why" } else { said };
        ensure!(self.code == Some(0), "git failed: {said}");
        Ok(())
    }
}

/// Runs git. What is longer than the limit is not waited for.
async fn output(spec: &ProcessSpec, limit: u64) -> anyhow::Result<Output> {
    let mut process = goose_process::spawn(spec)
        .context("git cannot be started. Install it, or see `goose doctor` if it is installed")?;
    let errors = process.take_stderr().map(Tail::follow);
    let mut bytes = Vec::new();
    if let Some(stdout) = process.take_stdout() {
        stdout.take(limit + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > limit {
        bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        return Ok(Output { bytes, is_cut: true, code: None, errors: String::new() });
    }
    if let Some(errors) = &errors {
        errors.ended().await;
    }
    let code = process.release().await?.code();
    Ok(Output { bytes, is_cut: false, code, errors: errors.map(|it| it.text()).unwrap_or_default() })
}

/// Splits a range; a single revision has no second end. An end that is left out is `HEAD`.
fn ends(range: &str) -> (&str, Option<&str>) {
    let Some((from, to)) = range.split_once(SINCE_PARTING).or_else(|| range.split_once("..")) else {
        return (range, None);
    };
    (if from.is_empty() { "HEAD" } else { from }, Some(if to.is_empty() { "HEAD" } else { to }))
}

/// Reads a list of `git diff --raw -z`.
fn listed(list: &[u8]) -> Vec<ListedFile> {
    let mut fields = list.split(|byte| *byte == 0);
    let mut files: Vec<ListedFile> = Vec::new();
    while let Some(about) = fields.next().filter(|about| !about.is_empty()) {
        let about = String::from_utf8_lossy(about);
        let mut words = about.trim_start_matches(':').split(' ');
        let is_submodule = words.by_ref().take(2).any(|mode| mode == SUBMODULE);
        let status = words.next_back().unwrap_or_default();
        let mut path = || Some(OsString::from_vec(fields.next()?.to_vec()));
        let Some(first) = path() else { break };
        let renamed = status.starts_with(['R', 'C']).then(&mut path).flatten();
        let kind = match status.chars().next() {
            _ if is_submodule => ChangeKind::Submodule,
            Some('A') => ChangeKind::Added,
            Some('D') => ChangeKind::Removed,
            Some('R' | 'C') => ChangeKind::Renamed,
            _ => ChangeKind::Modified,
        };
        let file = match renamed {
            Some(path) => ListedFile { path, old_path: Some(first), kind },
            None => ListedFile { path: first, old_path: None, kind },
        };
        // A file with conflicts is listed twice.
        if files.last().is_none_or(|last| last.path != file.path) {
            files.push(file);
        }
    }
    files
}
