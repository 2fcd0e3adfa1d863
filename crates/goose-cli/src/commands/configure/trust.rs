//! `goose configure trust` and `distrust`: the configuration of this project.

use std::{env, process::ExitCode};

use anyhow::{Context as _, bail};
use goose::config::{Paths, Trust, TrustStore};

use super::{
    asking::{Asking as _, Terminal},
    deeds::deeds,
    keyed::say,
};
use crate::{aside, settings::judged, visible};

/// Trusts the project's file as it is now. The person is shown what it would do, and asked.
pub(super) fn trust(paths: &Paths, yes: bool) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder cannot be found")?;
    let Some((file, trust)) = judged(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let path = file.path().display().to_string();
    if trust == Trust::Trusted {
        return say(&format!("{path} is trusted already."));
    }
    for line in deeds(&file)? {
        aside::line(visible::line(&line));
    }
    if !yes && !aside::can_ask() {
        bail!("Nobody can be asked here. Look at the file, then run this with --yes.");
    }
    if !yes && !Terminal.agrees(&format!("Trust {} as it is now?", visible::line(&path)))? {
        return say("It is not trusted.");
    }
    TrustStore::new(paths).trust(&file)?;
    say(&format!("{path} is trusted as it is now. When it changes, you are asked again."))
}

/// No longer trusts the project's file.
pub(super) fn distrust(paths: &Paths) -> anyhow::Result<ExitCode> {
    let folder = env::current_dir().context("the working folder cannot be found")?;
    let Some((file, _)) = judged(paths, &folder)? else {
        bail!("There is no .goose/config.yaml in this project.");
    };
    let was = TrustStore::new(paths).forget(file.path())?;
    let what = if was { "is no longer trusted" } else { "was not trusted" };
    say(&format!("{} {what}.", file.path().display()))
}
