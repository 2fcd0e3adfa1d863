//! The model inside goose, as the provider `local`: its name, its file, and the one place where it is made.
//!
//! - `inside`: in a goose that has one (the feature `local`); `outside`: in one that has not.

#[cfg(feature = "local")]
mod inside;
#[cfg(not(feature = "local"))]
mod outside;

use std::sync::Arc;

use goose::config::Settings;
use goose_providers::ModelRef;

#[cfg(feature = "local")]
pub(crate) use self::inside::{embedded, forgotten, info, named, provider, standing, store, switchable};
#[cfg(not(feature = "local"))]
pub(crate) use self::outside::{embedded, forgotten, info, named, provider, standing, switchable};
use crate::{choice::Voice, terminal::input::Input};

/// What the model inside is called as a service.
pub(crate) const PROVIDER: &str = "local";

/// What people should expect of it.
pub(crate) const GOOD_FOR: &str = "a small local model: good for small steps in a folder (look, search, create, edit, run); check what it does";

/// The variable that stands for yes where nobody can be asked.
const YES: &str = "GOOSE_YES";

/// Whether the model inside is meant, and there is one.
pub(crate) fn is_meant(model: &ModelRef) -> bool {
    cfg!(feature = "local") && model.provider() == Some(PROVIDER)
}

/// Whether a model may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person is asked, where they can be.
    Ask,
    /// It is given.
    Given,
}

impl Consent {
    /// Of a flag, or of the environment.
    pub(crate) fn of(flag: bool, settings: &Settings) -> Self {
        let by_variable = settings.variable(YES).is_some_and(|value| matches!(value, "1" | "true" | "yes"));
        if flag || by_variable { Self::Given } else { Self::Ask }
    }
}

/// How a file may be fetched where it is not here.
#[derive(Clone)]
#[cfg_attr(not(feature = "local"), expect(dead_code, reason = "a goose without a model inside fetches none"))]
pub(crate) struct Fetching {
    pub(crate) consent: Consent,
    pub(crate) voice: Voice,
    pub(crate) input: Arc<Input>,
}

/// How the model inside is: for people who look whether everything works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "a goose without a model inside has none to look at")
)]
pub(crate) enum Standing {
    /// Its file is here.
    Here(String),
    /// It can be fetched.
    Absent(String),
    /// It cannot be used: why, and what to do.
    Broken(String, String),
}
