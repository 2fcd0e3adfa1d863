//! The local models of this goose: their registration, and what commands say about them.

use std::sync::Arc;

use anyhow::Context as _;
use goose::config::{Paths, Settings};
use goose_local::{
    Downloads, LocalModels, Needs,
    model_store::{ModelStore, ModelStoreError, Place},
};
use goose_providers::{ModelRef, ProviderFactory, SetupError};

use super::{Fetching, ModelStatus};
use crate::{choice::WAYS, output::byte_size};

fn models(paths: &Paths) -> LocalModels {
    LocalModels::new(&paths.data, &paths.config, &paths.cache)
}

/// Opens the model store of this user.
///
/// # Errors
///
/// The user's catalogue is invalid.
pub(crate) fn store(paths: &Paths) -> Result<ModelStore, ModelStoreError> {
    models(paths).store()
}

/// Returns the local models, for the registry. Without `fetching`, none is downloaded.
pub(crate) fn factory(paths: &Paths, fetching: Option<Fetching>) -> Option<Arc<dyn ProviderFactory>> {
    let downloads = fetching.map(|fetching| -> Arc<dyn Downloads> { Arc::new(fetching) });
    Some(Arc::new(models(paths).with_downloads(downloads)))
}

/// Returns whether the model's file is downloaded, and one that runs. Downloads nothing.
pub(crate) fn status(model: &ModelRef, paths: &Paths) -> ModelStatus {
    match models(paths).locate(model.model()) {
        Ok(Place::File(path)) => ModelStatus::Here(path.display().to_string()),
        Ok(Place::Elsewhere(entry)) => ModelStatus::Absent(format!(
            "run 'goose models pull {}' ({}), or {WAYS}",
            entry.name,
            byte_size(entry.bytes)
        )),
        Err(error) => ModelStatus::Broken(
            error.to_string(),
            error.hint().unwrap_or_else(|| "run 'goose models list'".to_owned()),
        ),
    }
}

/// Returns the memory that a model needs with these settings.
///
/// # Errors
///
/// Its file cannot be used, or a setting is invalid.
pub(crate) fn needs(model: &str, settings: &Settings) -> Result<Needs, SetupError> {
    models(settings.paths()).needs(model, settings)
}

/// Removes what the local model keeps of a conversation.
///
/// # Errors
///
/// A file of it cannot be removed.
pub(crate) fn forget_session(paths: &Paths, conversation: &str) -> anyhow::Result<()> {
    models(paths).forget(conversation).context("cannot remove the local model's state of the session")
}
