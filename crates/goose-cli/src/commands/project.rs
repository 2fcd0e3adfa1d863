//! A project's own files, which are used only if the user trusts them.

use std::{path::Path, sync::Arc};

use goose::{
    config::{ConfigFile, Paths, ProjectFile, Trust, TrustStore},
    project_files,
};

use crate::{
    args::Consent,
    escape,
    output::{FAINT, NAME, WARNING},
    stderr,
    terminal::input::Input,
};

/// Variable that trusts projects without asking.
pub(crate) const TRUST_PROJECT: &str = "GOOSE_TRUST_PROJECT";

/// Returns the project's file if it exists and is trusted, after asking if possible.
pub(crate) async fn trusted(
    paths: &Paths,
    folder: &Path,
    consent: Consent,
    input: &Arc<Input>,
) -> anyhow::Result<Option<ProjectFile>> {
    if consent == Consent::Given {
        trust_all(paths, folder)?;
    }
    let file = match (ProjectFile::find(folder), consent) {
        (Ok(Some(file)), _) => file,
        (Ok(None), _) => return Ok(None),
        (Err(error), Consent::Given) => return Err(error.into()),
        (Err(error), Consent::Ask) => {
            let why = escape::text(&error.to_string()).into_owned();
            stderr::line(format_args!("{WARNING}The project's configuration is not used: {why}{WARNING:#}"));
            return Ok(None);
        }
    };
    if agreed(&TrustStore::new(paths), &file, consent, input).await? {
        return Ok(Some(file));
    }
    stderr::line(format_args!(
        "{WARNING}{} is not used because it is not trusted. Trust it with --trust-project.{WARNING:#}",
        escape::path(file.path())
    ));
    Ok(None)
}

/// Trusts everything that the project brings, in its current form.
fn trust_all(paths: &Paths, folder: &Path) -> anyhow::Result<()> {
    let store = TrustStore::new(paths);
    for (_, file) in project_files::find(folder)? {
        if store.check(&file)? != Trust::Trusted {
            store.trust(&file)?;
        }
    }
    Ok(())
}

/// Returns true if the user trusts the file, after asking if possible.
pub(crate) async fn agreed(
    store: &TrustStore,
    file: &ProjectFile,
    consent: Consent,
    input: &Arc<Input>,
) -> anyhow::Result<bool> {
    let trust = store.check(file)?;
    if trust == Trust::Trusted {
        return Ok(true);
    }
    let agreed = consent == Consent::Given || stderr::can_ask() && asked(file, trust, input).await;
    if agreed {
        store.trust(file)?;
    }
    Ok(agreed)
}

/// Shows the whole file and asks. Its extensions are repeated below, since a long file scrolls off the screen.
async fn asked(file: &ProjectFile, trust: Trust, input: &Arc<Input>) -> bool {
    let turn = input.turn().await;
    let what =
        if trust == Trust::Changed { "has changed since you trusted it" } else { "comes with this project" };
    stderr::line(format_args!("{NAME}{}{NAME:#} {what}. It contains:", escape::path(file.path())));
    for line in file.text().lines() {
        stderr::line(format_args!("    {FAINT}{}{FAINT:#}", escape::text(line)));
    }
    if let Some(names) = extensions(file) {
        stderr::line(format_args!("{WARNING}It adds extensions: {}.{WARNING:#}", escape::line(&names)));
    }
    stderr::line("It can start programs, choose where your messages go, and tell the model what to do.");
    turn.is_agreed("Trust it in this form? (y/n) ").await
}

/// Returns the names of its extensions.
fn extensions(file: &ProjectFile) -> Option<String> {
    let config: ConfigFile = file.clone().parse().ok()?;
    let names: Vec<&str> = config.extensions().iter().map(|entry| entry.key.as_str()).collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}
