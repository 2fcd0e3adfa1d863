//! What goose finds on the machine: the shell, programs, the store of sessions, the keyring, the terminal.

use std::{
    collections::BTreeMap,
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

use super::check::Check;

/// How long the shell may take for one word.
const SHELL_TIME: Duration = Duration::from_secs(5);

/// How long the file with the sessions is looked through.
const STORE_TIME: Duration = Duration::from_secs(5);

/// What the shell is asked to say.
const WORD: &str = "goose-can-run-commands";

pub(super) async fn look(paths: &Paths, settings: Option<&Settings>) -> Vec<Check> {
    let mut checks = vec![shell(settings).await, git(), ripgrep(), store(paths).await];
    checks.push(keyring(settings));
    checks.push(terminal());
    checks
}

async fn shell(settings: Option<&Settings>) -> Check {
    const NAME: &str = "shell";
    let mend = "set GOOSE_SHELL to a shell that works, such as /bin/sh";
    let shell = match settings.map(|settings| settings.get::<String>("GOOSE_SHELL")).transpose() {
        Ok(shell) => shell.flatten().unwrap_or_else(|| "sh".to_owned()),
        Err(error) => return Check::bad(NAME, error.to_string(), mend),
    };
    match said(&shell).await {
        Ok(said) if said.trim() == WORD => Check::good(NAME, format!("{shell} runs commands")),
        Ok(_) => Check::bad(NAME, format!("{shell} says something else than it was asked to"), mend),
        Err(problem) => Check::bad(NAME, format!("{shell} {problem}"), mend),
    }
}

/// What the shell says.
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
        .map_err(|_| format!("does not end within {} seconds", SHELL_TIME.as_secs()))?
        .map_err(failed)?;
    Ok(output.map(|output| output.text()).unwrap_or_default())
}

fn git() -> Check {
    match in_path("git") {
        Some(path) => Check::good("git", path.display().to_string()),
        None => {
            Check::warning("git", "git is not there", "install git, so that changes can be seen and undone")
        }
    }
}

fn ripgrep() -> Check {
    match in_path("rg") {
        Some(path) => Check::good("ripgrep", path.display().to_string()),
        None => Check::warning(
            "ripgrep",
            "rg is not there",
            "install ripgrep: models search with it in the shell",
        ),
    }
}

/// A program on the path.
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
            Check::warning(NAME, format!("{shown} is busy"), "end the program that uses it, and try again")
        }
        Ok(Ok((newest, is_looked_through))) => {
            let newest =
                newest.map_or("without sessions".to_owned(), |it| format!("the newest is {}", it.id));
            let partly = if is_looked_through { "" } else { "; it is too large to look through here" };
            Check::good(NAME, format!("{shown}, {newest}{partly}"))
        }
        Ok(Err(error)) => {
            let mend = error.hint();
            Check::bad(
                NAME,
                error.to_string(),
                mend.unwrap_or_else(|| format!("move {shown} away, and keep it")),
            )
        }
    }
}

fn keyring(settings: Option<&Settings>) -> Check {
    const NAME: &str = "keyring";
    if settings.is_some_and(Settings::is_keyring_disabled) {
        return Check::skipped(NAME, "switched off by GOOSE_DISABLE_KEYRING; secrets are in secrets.yaml");
    }
    let environment: BTreeMap<String, String> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    match Keyring::of_system(&environment) {
        None => Check::skipped(NAME, "there is none that can be asked here; secrets are in secrets.yaml"),
        Some(keyring) => match keyring.read() {
            Ok(entry) => Check::good(NAME, format!("it answers, and has {} secrets of goose", entry.len())),
            Err(error) => Check::warning(
                NAME,
                error.to_string(),
                "unlock it, or set 'GOOSE_DISABLE_KEYRING: true' and keep secrets in secrets.yaml",
            ),
        },
    }
}

fn terminal() -> Check {
    const NAME: &str = "terminal";
    if !stdout().is_terminal() {
        return Check::skipped(NAME, "the output goes elsewhere");
    }
    let kind = env::var("TERM").unwrap_or_default();
    let speaks_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|it| !it.is_empty()));
    match speaks_utf8.map(|locale| locale.to_lowercase().replace('-', "")) {
        _ if kind.is_empty() || kind == "dumb" => Check::warning(
            NAME,
            "TERM says that it can do nothing",
            "use another terminal, or set TERM, such as xterm-256color",
        ),
        Some(locale) if locale.contains("utf8") => Check::good(NAME, kind),
        _ => Check::warning(
            NAME,
            format!("{kind}, without UTF-8"),
            "set LANG to a UTF-8 locale, such as C.UTF-8",
        ),
    }
}
