//! The models inside goose, as the provider `local`: a factory for the registry, and what commands say about their
//! files. A goose without the feature `local` has none.

#[cfg(feature = "local")]
mod download;
#[cfg(feature = "local")]
mod enabled;

use std::sync::Arc;

#[cfg(feature = "local")]
pub(crate) use self::enabled::{factory, forget_session, needs, status, store};
use crate::{args::Consent, choice::Verbosity, terminal::input::Input};

/// The provider's name.
pub(crate) const PROVIDER: &str = "local";

/// The variable that stands for the consent to downloads.
pub(crate) const YES: &str = "GOOSE_YES";

/// The expectation that people should have of the models.
pub(crate) const GOOD_FOR: &str = "small local model: fine for simple tasks; double-check its work";

/// The consent to downloads, and who is asked for it and told about them.
#[derive(Clone)]
#[cfg_attr(not(feature = "local"), expect(dead_code, reason = "unused without local models"))]
pub(crate) struct Fetching {
    pub(crate) consent: Consent,
    pub(crate) verbosity: Verbosity,
    pub(crate) input: Arc<Input>,
}

/// The state of a model's file, for people who look whether everything works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "local"), expect(dead_code, reason = "unused without local models"))]
pub(crate) enum ModelStatus {
    /// The file is here.
    Here(String),
    /// The file can be fetched.
    Absent(String),
    /// The file cannot be used: why, and what to do.
    Broken(String, String),
}

#[cfg(not(feature = "local"))]
mod disabled {
    use std::sync::Arc;

    use goose::config::Paths;
    use goose_providers::{ModelRef, ProviderFactory};

    use super::{Fetching, ModelStatus};

    pub(crate) fn factory(_paths: &Paths, _fetching: Option<Fetching>) -> Option<Arc<dyn ProviderFactory>> {
        None
    }

    pub(crate) fn status(_model: &ModelRef, _paths: &Paths) -> ModelStatus {
        ModelStatus::Broken(
            "this goose was built without local models".to_owned(),
            crate::choice::WAYS.to_owned(),
        )
    }

    pub(crate) fn forget_session(_paths: &Paths, _conversation: &str) -> anyhow::Result<()> {
        Ok(())
    }
}
#[cfg(not(feature = "local"))]
pub(crate) use self::disabled::{factory, forget_session, status};
