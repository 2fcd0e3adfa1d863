//! Checks of goose's folders and configuration files: readable, valid, writable, with disk space left.

use std::{env, io, path::Path};

use anyhow::anyhow;
use goose::{
    config::{ConfigFile, FileSecrets, Paths, Secrets as _, Settings, Trust, TrustStore},
    hooks::HookFile,
    permission::Mode,
    project_files::{self, ProjectFileKind},
};

use super::{Check, known_files};
use crate::settings::Here;

/// With less space than this, sessions may soon fail to save.
const LITTLE_ROOM: u64 = 200 * 1024 * 1024;

/// With less space than this, sessions fail to save.
const NO_ROOM: u64 = 5 * 1024 * 1024;

pub(super) fn check(paths: &Paths, here: &Here) -> Vec<Check> {
    let mut checks = folders(paths);
    checks.push(settings(here));
    if let Ok(settings) = &here.settings {
        checks.extend(known_files::check(paths, settings));
        checks.extend(hooks(settings));
    }
    checks.extend(project(here));
    checks.extend(project_knowledge(paths));
    checks.extend(secrets(paths));
    checks
}

fn settings(here: &Here) -> Check {
    const NAME: &str = "configuration";
    match &here.settings {
        Ok(settings) => {
            let files: Vec<&ConfigFile> =
                [settings.user_file()].into_iter().chain(settings.project_file()).collect();
            let shown: Vec<String> = files.iter().map(|file| file.path().display().to_string()).collect();
            match settings.profile(None).map_err(anyhow::Error::from).and_then(|it| mode(settings, it.mode)) {
                Ok(()) => Check::good(NAME, shown.join(", ")),
                Err(error) => Check::bad(NAME, error.to_string(), "correct or remove that value"),
            }
        }
        Err(error) => {
            Check::bad(NAME, error.to_string(), "correct that line; goose does not change the file")
        }
    }
}

/// Fails if the mode is not a valid one.
fn mode(settings: &Settings, mode: Option<String>) -> anyhow::Result<()> {
    let Some(mode) = mode else { return Ok(()) };
    let origin = settings.origin("GOOSE_MODE").map_or("the profile".to_owned(), |it| it.to_string());
    mode.parse::<Mode>().map(drop).map_err(|error| anyhow!("{origin}: {error}"))
}

fn project(here: &Here) -> Option<Check> {
    const NAME: &str = "project";
    match &here.project {
        Ok(None) => None,
        Ok(Some(project)) => {
            let path = project.path.display();
            Some(match project.trust {
                Trust::Trusted => Check::good(NAME, format!("{path} is trusted")),
                Trust::Unknown => Check::warning(
                    NAME,
                    format!("{path} is not trusted and therefore not used"),
                    "review it, then run 'goose configure trust'",
                ),
                Trust::Changed => Check::warning(
                    NAME,
                    format!("{path} has changed since it was trusted and is therefore not used"),
                    "review the change, then run 'goose configure trust'",
                ),
            })
        }
        Err(error) => Some(Check::bad(NAME, error.to_string(), "correct or remove that file")),
    }
}

/// Entries of hooks that cannot be used.
fn hooks(settings: &Settings) -> Vec<Check> {
    let folder = env::current_dir().unwrap_or_default();
    let files = HookFile::find_all(settings, &folder);
    let problem = |file: &HookFile| {
        let problems = file.problems.join("; ");
        let fix = "correct that entry; `goose hooks list` shows the hooks";
        Check::warning("hooks", format!("{}: {problems}", file.path.display()), fix)
    };
    files.iter().filter(|file| !file.problems.is_empty()).map(problem).collect()
}

/// Agents, skills, recipes and hooks of the project that are not used.
fn project_knowledge(paths: &Paths) -> Option<Check> {
    let (folder, store) = (env::current_dir().ok()?, TrustStore::new(paths));
    // A configuration that cannot be read has its own check.
    let mut files = project_files::find(&folder).ok()?;
    files.retain(|(kind, _)| *kind != ProjectFileKind::Configuration);
    files.retain(|(_, file)| store.check(file).is_ok_and(|trust| trust != Trust::Trusted));
    let shown: Vec<String> = files.iter().map(|(_, file)| file.path().display().to_string()).collect();
    (!shown.is_empty()).then(|| {
        Check::warning(
            "project",
            format!("these files are not trusted and therefore not used: {}", shown.join(", ")),
            "review them, then run 'goose configure trust'",
        )
    })
}

fn secrets(paths: &Paths) -> Option<Check> {
    const NAME: &str = "secrets.yaml";
    let path = paths.secrets_file();
    if !path.exists() {
        return None;
    }
    let secrets = FileSecrets::new(&path);
    let shown = path.display();
    Some(match secrets.get("GOOSE_DOCTOR") {
        Err(error) => Check::bad(NAME, error.to_string(), "correct that line; the format is 'NAME: value'"),
        Ok(_) if secrets.is_readable_by_others() => {
            Check::warning(NAME, format!("other users can read {shown}"), format!("run 'chmod 600 {shown}'"))
        }
        Ok(_) => Check::good(NAME, shown.to_string()),
    })
}

fn folders(paths: &Paths) -> Vec<Check> {
    let named =
        [("config folder", &paths.config), ("data folder", &paths.data), ("state folder", &paths.state)];
    let mut checks: Vec<Check> = named.into_iter().map(|(name, folder)| writable(name, folder)).collect();
    checks.push(room(&paths.data));
    checks
}

/// Checks that a folder can be written. A missing one is created on demand, so its nearest existing parent is checked.
fn writable(name: &str, folder: &Path) -> Check {
    let shown = folder.display();
    let Some(nearest) = nearest(folder) else {
        return Check::bad(
            name,
            format!("{shown} has no existing parent folder"),
            "set HOME or GOOSE_PATH_ROOT to an existing folder",
        );
    };
    if folder.exists() && !folder.is_dir() {
        return Check::bad(name, format!("{shown} is not a folder"), "move that file away");
    }
    match tempfile::Builder::new().prefix(".goose-doctor").tempfile_in(nearest) {
        Ok(_) if folder.is_dir() => Check::good(name, shown.to_string()),
        Ok(_) => Check::good(name, format!("{shown} (created when needed)")),
        Err(error) => Check::bad(
            name,
            format!("{} is not writable: {error}", nearest.display()),
            writing_fix(error.kind(), nearest),
        ),
    }
}

fn writing_fix(error: io::ErrorKind, folder: &Path) -> String {
    let folder = folder.display();
    match error {
        // Permissions do not matter there.
        io::ErrorKind::ReadOnlyFilesystem => "set GOOSE_PATH_ROOT to a folder that can be written".to_owned(),
        _ => format!("run 'chown -R $USER {folder}' and 'chmod u+rwx {folder}', or set GOOSE_PATH_ROOT"),
    }
}

fn nearest(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.is_dir())
}

fn room(folder: &Path) -> Check {
    const NAME: &str = "disk space";
    let free = nearest(folder).and_then(|folder| rustix::fs::statvfs(folder).ok());
    let Some(free) = free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)) else {
        return Check::skipped(NAME, "unknown");
    };
    let says = format!("{} MB free for sessions", free / 1_000_000);
    let fix = "free some space, or move goose's folders with GOOSE_PATH_ROOT";
    match free {
        ..NO_ROOM => Check::bad(NAME, says, fix),
        NO_ROOM..LITTLE_ROOM => Check::warning(NAME, says, fix),
        _ => Check::good(NAME, says),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_no_advice_for_a_read_only_file_system() {
        let fix = |error| writing_fix(error, Path::new("/home/me"));
        assert!(!fix(io::ErrorKind::ReadOnlyFilesystem).contains("chmod"));
        assert!(fix(io::ErrorKind::PermissionDenied).contains("chmod u+rwx /home/me"));
    }
}
