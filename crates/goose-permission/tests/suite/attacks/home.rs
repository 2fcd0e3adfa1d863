//! A scratch home with a project in it, which is restored after every attempt.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::ensure;
use goose_config::Paths;
use goose_permission::{Mode, PermissionOptions, Permissions};
use rustix::fs::FileType;
use tempfile::TempDir;

use super::{
    data,
    real_shell::{RealShell, Surroundings},
};

/// Text of all files that must not be read.
pub(super) const SECRET: &str = "SECRET-TEXT";

/// Variable with a secret that goose has, and its commands do not.
pub(super) const TOKEN: &str = "GOOSE_TEST_TOKEN";

/// Files of the home that have two names.
const HARD_LINKS: [(&str, &str); 3] =
    [(".ssh/authorized_keys", "work/hard"), ("secret/s", "work/secrethard"), (".netrc", "work/hard2")];

/// Time after which an attempt is killed.
const LIMIT: Duration = Duration::from_secs(5);

/// Files of a folder: their mode, and their content or the target of a link.
pub(super) type Snapshot = BTreeMap<PathBuf, (u32, Vec<u8>)>;

pub(super) struct ScratchHome {
    root: TempDir,
    /// Process whose environment holds the secret.
    keeper: Child,
    environment: Vec<(OsString, OsString)>,
    /// State before every attempt.
    new: Snapshot,
    /// Indexes of repositories.
    indexes: Vec<PathBuf>,
}

impl ScratchHome {
    /// Builds the home. Its scripts run `command`.
    pub(super) fn new(command: &str, rules: &[String]) -> anyhow::Result<Self> {
        let root = tempfile::tempdir()?;
        let keeper = Command::new("sleep").arg("1000").env(TOKEN, SECRET).stdin(Stdio::null()).spawn()?;
        let mut home =
            Self { environment: Vec::new(), new: Snapshot::new(), indexes: Vec::new(), keeper, root };
        home.environment = home.variables();
        fs::create_dir(home.path())?;
        let status = Command::new("sh")
            .arg(data::path("home.sh"))
            .arg(command)
            .env_clear()
            .envs(home.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .status()?;
        ensure!(status.success(), "home.sh failed");
        if !rules.is_empty() {
            let rules: String = rules.iter().map(|rule| format!("  - {rule}\n")).collect();
            fs::write(home.path().join("goose/config/permission.yaml"), format!("rules:\n{rules}"))?;
        }
        copy(&home.path(), &home.template())?;
        home.new = home.snapshot()?;
        let repositories = home
            .new
            .keys()
            .filter(|path| path.ends_with(".git") && home.path().join(path).join("index").is_file());
        home.indexes = repositories.map(|path| path.join("index")).collect();
        Ok(home)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns the id of a process whose environment holds the secret.
    pub(super) fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn template(&self) -> PathBuf {
        self.root.path().join("template")
    }

    pub(super) fn permissions(&self, mode: Mode) -> Arc<Permissions> {
        let options = PermissionOptions::new(mode).with_paths(&Paths::under(self.path().join("goose")));
        Permissions::new(options.with_home(self.path()))
    }

    /// Returns the environment variables of a command.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let fixed = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("TERM", "dumb"),
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@localhost"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@localhost"),
        ];
        let mut variables: Vec<(OsString, OsString)> =
            fixed.iter().map(|(name, value)| (name.into(), value.into())).collect();
        variables.push(("HOME".into(), self.path().into()));
        variables
    }

    /// Runs a script in a folder of the home and returns its output.
    pub(super) fn run(&self, shell: &RealShell, script: &str, folder: &Path) -> anyhow::Result<Vec<u8>> {
        let mut variables = self.environment.clone();
        variables.push(("PWD".into(), folder.into()));
        let parent_variable = Some((TOKEN, SECRET));
        let surroundings = Surroundings { folder, variables, limit: LIMIT, parent_variable };
        Ok(shell.run(script, &surroundings)?)
    }

    /// Returns the state before every attempt.
    pub(super) fn as_new(&self) -> &Snapshot {
        &self.new
    }

    /// Reads all files, except the indexes of repositories: reading commands refresh them.
    pub(super) fn snapshot(&self) -> anyhow::Result<Snapshot> {
        let mut snapshot = Snapshot::new();
        read(&self.path(), Path::new(""), &mut snapshot)?;
        snapshot.retain(|path, _| !path.ends_with(".git/index"));
        Ok(snapshot)
    }

    /// Undoes the changes of an attempt. Other files are kept, because removing many files is slow.
    pub(super) fn renew(&self, after: &Snapshot) -> anyhow::Result<()> {
        let home = self.path();
        let changed: Vec<_> = after.iter().filter(|(path, file)| self.new.get(*path) != Some(file)).collect();
        for (path, (mode, _)) in &changed {
            if is_folder(*mode) {
                fs::set_permissions(home.join(path), fs::Permissions::from_mode(0o700))?;
            }
        }
        for (path, (mode, _)) in changed.iter().rev() {
            match self.new.get(*path) {
                Some((new_mode, _)) if is_folder(*mode) && is_folder(*new_mode) => {}
                _ if is_folder(*mode) => fs::remove_dir_all(home.join(path))?,
                _ => fs::remove_file(home.join(path))?,
            }
        }
        for (path, file) in &self.new {
            if after.get(path) != Some(file) {
                self.restore(path)?;
            }
        }
        self.indexes.iter().try_for_each(|index| self.restore(index))
    }

    fn restore(&self, path: &Path) -> anyhow::Result<()> {
        let (from, to) = (self.template().join(path), self.path().join(path));
        let metadata = from.symlink_metadata()?;
        // The other name of a file with two.
        let twin = HARD_LINKS.iter().find_map(|&(one, other)| match path.to_str() {
            Some(path) if path == one => Some(other),
            Some(path) if path == other => Some(one),
            _ => None,
        });
        if metadata.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else if metadata.is_dir() {
            fs::create_dir_all(&to)?;
            fs::set_permissions(&to, metadata.permissions())?;
        } else {
            fs::copy(&from, &to)?;
        }
        if let Some(twin) = twin.map(|twin| self.path().join(twin)) {
            let _ = fs::remove_file(&twin);
            fs::hard_link(&to, &twin)?;
        }
        Ok(())
    }
}

fn is_folder(mode: u32) -> bool {
    FileType::from_raw_mode(mode).is_dir()
}

impl Drop for ScratchHome {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn read(root: &Path, below: &Path, snapshot: &mut Snapshot) -> anyhow::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let name = below.join(entry?.file_name());
        let path = root.join(&name);
        let metadata = path.symlink_metadata()?;
        let content = if metadata.is_symlink() {
            fs::read_link(&path)?.into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(&path).unwrap_or_default()
        } else {
            Vec::new()
        };
        snapshot.insert(name.clone(), (metadata.permissions().mode(), content));
        if metadata.is_dir() {
            read(root, &name, snapshot)?;
        }
    }
    Ok(())
}

/// Copies a folder and keeps its hard links.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(status.success(), "the scratch home cannot be copied");
    Ok(())
}
