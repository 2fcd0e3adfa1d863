//! A goose that has no model inside.

use std::sync::Arc;

use anyhow::bail;
use goose::{
    config::{Paths, Settings},
    exchange::OwnModels,
};
use goose_providers::{ModelRef, Provider, ProviderInfo};

use super::{Fetching, PROVIDER, Standing};
use crate::{choice::WAYS, commands::assemble::Keep};

/// None.
pub(crate) fn embedded() -> Option<ModelRef> {
    None
}

/// None.
pub(crate) fn info() -> Option<ProviderInfo> {
    None
}

/// The model as it was named.
pub(crate) fn named(model: ModelRef) -> ModelRef {
    model
}

/// It is not there.
pub(crate) fn standing(_model: &ModelRef, _settings: &Settings) -> Standing {
    Standing::Broken("this goose was built without a model of its own".to_owned(), WAYS.to_owned())
}

/// It keeps nothing.
///
/// # Errors
///
/// None.
pub(crate) fn forgotten(_paths: &Paths, _conversation: &str) -> anyhow::Result<()> {
    Ok(())
}

/// None.
pub(crate) fn switchable(_settings: &Settings, _keep: Keep) -> Option<Arc<dyn OwnModels>> {
    None
}

/// # Errors
///
/// Always: there is none.
pub(crate) async fn provider(
    _model: &ModelRef,
    _settings: &Settings,
    _fetching: &Fetching,
    _keep: Keep,
) -> anyhow::Result<Arc<dyn Provider>> {
    bail!(
        "this goose was built without a model of its own, so `{PROVIDER}` cannot be used.\nTo get a model, {WAYS}."
    )
}
