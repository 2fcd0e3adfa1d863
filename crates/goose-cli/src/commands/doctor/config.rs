//! The configuration: whether it can be read, and whether it makes sense.

use anyhow::anyhow;
use goose::{
    config::{ConfigFile, FileSecrets, Paths, Secrets as _, Settings, Trust},
    permission::Mode,
};

use super::check::Check;
use crate::settings::Here;

pub(super) fn look(paths: &Paths, here: &Here) -> Vec<Check> {
    let mut checks = vec![settings(here)];
    checks.extend(project(here));
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
                Err(error) => Check::bad(NAME, error.to_string(), "correct that value, or remove it"),
            }
        }
        Err(error) => {
            Check::bad(NAME, error.to_string(), "correct the file at that line; goose leaves it as it is")
        }
    }
}

/// Whether there is such a mode.
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
                    format!("{path} is not trusted, and so not used"),
                    "look at it, then run 'goose configure trust'",
                ),
                Trust::Changed => Check::warning(
                    NAME,
                    format!("{path} has changed since it was trusted, and so is not used"),
                    "look at what changed, then run 'goose configure trust'",
                ),
            })
        }
        Err(error) => Some(Check::bad(NAME, error.to_string(), "correct that file, or remove it")),
    }
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
        Err(error) => Check::bad(NAME, error.to_string(), "correct that line: 'NAME: value' on each"),
        Ok(_) if secrets.is_readable_by_others() => Check::warning(
            NAME,
            format!("others on this machine can read {shown}"),
            format!("run 'chmod 600 {shown}'"),
        ),
        Ok(_) => Check::good(NAME, shown.to_string()),
    })
}
