//! goose's folders: whether they can be written, and whether there is room.

use std::path::Path;

use goose::config::Paths;

use super::check::Check;

/// Less than this, and sessions may soon not be saved.
const LITTLE_ROOM: u64 = 200 * 1024 * 1024;

/// Less than this, and they are not.
const NO_ROOM: u64 = 5 * 1024 * 1024;

pub(super) fn look(paths: &Paths) -> Vec<Check> {
    let named =
        [("config folder", &paths.config), ("data folder", &paths.data), ("state folder", &paths.state)];
    let mut checks: Vec<Check> = named.into_iter().map(|(name, folder)| writable(name, folder)).collect();
    checks.push(room(&paths.data));
    checks
}

/// A folder that is not there yet is made when it is needed; so what counts is the nearest one that is.
fn writable(name: &str, folder: &Path) -> Check {
    let shown = folder.display();
    let Some(nearest) = nearest(folder) else {
        return Check::bad(
            name,
            format!("{shown} is nowhere"),
            "set HOME or GOOSE_PATH_ROOT to a folder of yours",
        );
    };
    if folder.exists() && !folder.is_dir() {
        return Check::bad(name, format!("{shown} is no folder"), "move that file away");
    }
    match tempfile::Builder::new().prefix(".goose-doctor").tempfile_in(nearest) {
        Ok(_) if folder.is_dir() => Check::good(name, shown.to_string()),
        Ok(_) => Check::good(name, format!("{shown} (made when it is needed)")),
        Err(error) => Check::bad(
            name,
            format!("{} cannot be written: {error}", nearest.display()),
            format!(
                "run 'chown -R $USER {0}' and 'chmod u+rwx {0}', or set GOOSE_PATH_ROOT",
                nearest.display()
            ),
        ),
    }
}

fn nearest(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.is_dir())
}

fn room(folder: &Path) -> Check {
    const NAME: &str = "disk space";
    let free = nearest(folder).and_then(|folder| rustix::fs::statvfs(folder).ok());
    let Some(free) = free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)) else {
        return Check::skipped(NAME, "the system does not say");
    };
    let says = format!("{} MB free for sessions", free / 1_000_000);
    let mend = "free some space, or move goose's folders with GOOSE_PATH_ROOT";
    match free {
        ..NO_ROOM => Check::bad(NAME, says, mend),
        NO_ROOM..LITTLE_ROOM => Check::warning(NAME, says, mend),
        _ => Check::good(NAME, says),
    }
}
