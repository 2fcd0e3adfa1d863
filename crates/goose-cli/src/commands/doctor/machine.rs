//! Checks of the machine: the shell, programs, the session store, the keyring, the terminal.

use std::{
    env,
    io::{IsTerminal as _, stdout},
    path::{Path, PathBuf},
    time::Duration,
};

use goose::{
    config::{Keyring, Paths, Settings},
    session::SessionStore,
};
use goose_process::{ProcessSpec, Stream};
use tokio::time::timeout;

use super::Check;

/// Time limit of the shell check.
const SHELL_TIME: Duration = Duration::from_secs(5);

/// Time limit of the session store's integrity check.
const STORE_TIME: Duration = Duration::from_secs(5);

/// Text that the shell must print.
const WORD: &str = "goose-can-run-commands";

pub(super) async fn check(paths: &Paths, settings: Option<&Settings>) -> Vec<Check> {
    vec![shell(settings).await, git(), store(paths).await, keyring(settings), terminal()]
}

async fn shell(settings: Option<&Settings>) -> Check {
    const NAME: &str = "shell";
    let fix = "set GOOSE_SHELL to a shell that works, such as /bin/sh";
    let shell = match settings.map(|settings| settings.get::<String>("GOOSE_SHELL")).transpose() {
        Ok(shell) => shell.flatten().unwrap_or_else(|| default_shell().to_owned()),
        Err(error) => return Check::bad(NAME, error.to_string(), fix),
    };
    match said(&shell).await {
        Ok(said) if said.trim() == WORD => Check::good(NAME, format!("{shell} runs commands")),
        Ok(_) => Check::bad(NAME, format!("{shell} printed unexpected output"), fix),
        Err(problem) => Check::bad(NAME, format!("{shell} {problem}"), fix),
    }
}

/// The shell that commands run in if none is configured.
fn default_shell() -> &'static str {
    if in_path("bash").is_some() { "bash" } else { "sh" }
}

/// Returns the output of the shell.
async fn said(shell: &str) -> Result<String, String> {
    let mut command = ProcessSpec::new(shell);
    command.args(["-c", &format!("echo {WORD}")]);
    command.stdin(Stream::Null).stdout(Stream::Piped).stderr(Stream::Null);
    let failed = |error: std::io::Error| format!("cannot be started: {error}");
    let mut process = goose_process::spawn(&command).map_err(failed)?;
    let output = process.take_stdout().map(goose_process::Tail::follow);
    let ended = timeout(SHELL_TIME, async {
        if let Some(output) = &output {
            output.ended().await;
        }
        process.wait().await
    });
    ended
        .await
        .map_err(|_| format!("did not exit within {} seconds", SHELL_TIME.as_secs()))?
        .map_err(failed)?;
    Ok(output.map(|output| output.text()).unwrap_or_default())
}

/// goose can do without it.
fn git() -> Check {
    match in_path("git") {
        Some(path) => Check::good("git", path.display().to_string()),
        None => Check::warning("git", "git not found", "install git to review and undo changes"),
    }
}

/// Finds a program on the path.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

async fn store(paths: &Paths) -> Check {
    const NAME: &str = "sessions";
    let path = SessionStore::file(paths);
    if !path.exists() {
        return Check::good(NAME, "none yet");
    }
    let shown = path.display().to_string();
    let opened = async {
        let store = SessionStore::open(&path).await?;
        let newest = store.latest(None).await?;
        let looked_through = timeout(STORE_TIME, store.check()).await;
        looked_through.as_ref().map_or(Ok(()), Clone::clone)?;
        store.close().await?;
        Ok::<_, goose::session::StoreError>((newest, looked_through.is_ok()))
    };
    match timeout(2 * STORE_TIME, opened).await {
        Err(_) => {
            Check::warning(NAME, format!("{shown} is busy"), "close the program that uses it, and try again")
        }
        Ok(Ok((newest, is_looked_through))) => {
            let newest = newest.map_or("no sessions".to_owned(), |it| format!("newest is {}", it.id));
            let partly = if is_looked_through { "" } else { "; too large for a complete check" };
            Check::good(NAME, format!("{shown}, {newest}{partly}"))
        }
        Ok(Err(error)) => {
            let fix = error.hint();
            Check::bad(
                NAME,
                error.to_string(),
                fix.unwrap_or_else(|| format!("move {shown} away as a backup")),
            )
        }
    }
}

fn keyring(settings: Option<&Settings>) -> Check {
    const NAME: &str = "keyring";
    if settings.is_some_and(Settings::is_keyring_disabled) {
        return Check::skipped(NAME, "disabled by GOOSE_DISABLE_KEYRING; secrets are stored in secrets.yaml");
    }
    match Keyring::of_this_process() {
        None => Check::skipped(NAME, "not available; secrets are stored in secrets.yaml"),
        Some(keyring) => match keyring.read() {
            Ok(entry) => Check::good(NAME, format!("works; {} secrets of goose", entry.len())),
            Err(error) => Check::warning(
                NAME,
                error.to_string(),
                "unlock it, or set 'GOOSE_DISABLE_KEYRING: true' to store secrets in secrets.yaml",
            ),
        },
    }
}

fn terminal() -> Check {
    const NAME: &str = "terminal";
    if !stdout().is_terminal() {
        return Check::skipped(NAME, "output is not a terminal");
    }
    let kind = env::var("TERM").unwrap_or_default();
    let speaks_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()));
    match speaks_utf8.map(|locale| locale.to_lowercase().replace('-', "")) {
        _ if kind.is_empty() || kind == "dumb" => Check::warning(
            NAME,
            "TERM names a terminal without capabilities",
            "use another terminal, or set TERM to a value such as xterm-256color",
        ),
        Some(locale) if locale.contains("utf8") => Check::good(NAME, kind),
        _ => Check::warning(
            NAME,
            format!("{kind}, without UTF-8"),
            "set LANG to a UTF-8 locale, such as C.UTF-8",
        ),
    }
}
