//! The configuration that comes with a project: it counts only where the person trusts it.

use std::{path::Path, sync::Arc};

use goose::config::{ConfigFile, Paths, ProjectFile, Trust, TrustStore};

use crate::{
    aside,
    output::{FAINT, NAME, WARNING},
    settings::Consent,
    terminal::input::{Input, Typed},
    visible,
};

/// The variable that trusts projects without asking.
pub(crate) const TRUST_PROJECT: &str = "GOOSE_TRUST_PROJECT";

/// The project's file, where it is there and trusted.
pub(crate) async fn trusted(
    paths: &Paths,
    folder: &Path,
    consent: Consent,
    input: Option<&Arc<Input>>,
) -> anyhow::Result<Option<ProjectFile>> {
    let file = match (ProjectFile::find(folder), consent) {
        (Ok(Some(file)), _) => file,
        (Ok(None), _) => return Ok(None),
        (Err(error), Consent::Given) => return Err(error.into()),
        (Err(error), Consent::Ask) => {
            let why = visible::text(&error.to_string()).into_owned();
            aside::line(format_args!("{WARNING}The project's configuration is not used: {why}{WARNING:#}"));
            return Ok(None);
        }
    };
    let store = TrustStore::new(paths);
    let trust = store.check(&file)?;
    if trust == Trust::Trusted {
        return Ok(Some(file));
    }
    let agreed = match (consent, input) {
        (Consent::Given, _) => true,
        (Consent::Ask, Some(input)) => asked(&file, trust, input).await,
        (Consent::Ask, None) => false,
    };
    if agreed {
        store.trust(&file)?;
        return Ok(Some(file));
    }
    aside::line(format_args!(
        "{WARNING}{} is not used, because it is not trusted. Trust it with --trust-project.{WARNING:#}",
        visible::line(&file.path().display().to_string())
    ));
    Ok(None)
}

/// Shows all that the file says, as it would be trusted, and asks. What does not fit on the screen is above it; what
/// the file starts is said again below.
async fn asked(file: &ProjectFile, trust: Trust, input: &Arc<Input>) -> bool {
    let turn = input.turn().await;
    let path = file.path().display().to_string();
    let what =
        if trust == Trust::Changed { "has changed since you trusted it" } else { "comes with this project" };
    aside::line(format_args!("{NAME}{}{NAME:#} {what}. It says:", visible::line(&path)));
    for line in file.text().lines() {
        aside::line(format_args!("    {FAINT}{}{FAINT:#}", visible::text(line)));
    }
    if let Some(names) = extensions(file) {
        aside::line(format_args!("{WARNING}It has extensions: {}.{WARNING:#}", visible::line(&names)));
    }
    aside::line("It can start programs and choose where your messages go.");
    let typed = turn.answer("Trust it as it is? (y/n) ").await;
    matches!(typed, Typed::Text(text) if matches!(text.trim(), "y" | "yes"))
}

/// The extensions that it has, which may stand far above.
fn extensions(file: &ProjectFile) -> Option<String> {
    let config: ConfigFile = file.clone().parse().ok()?;
    let names: Vec<&str> = config.extensions().iter().map(|entry| entry.key.as_str()).collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}
