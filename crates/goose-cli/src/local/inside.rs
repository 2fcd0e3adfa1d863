//! The model inside: where its file is, how it comes there, and the provider that runs it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use goose::config::{Paths, Settings};
use goose_local::shelf::{Catalogue, DEFAULT_MODEL, Place, Shelf, ShelfError};
use goose_providers::{ModelRef, Provider, ProviderInfo};

use super::{Fetching, PROVIDER, Standing};
use crate::{
    choice::WAYS,
    commands::{
        info::size,
        models::{explained, fetch::fetch},
    },
};

/// The folder with models' files, in the data folder.
const FOLDER: &str = "models";

/// The file with models that people add to the catalogue, in the config folder.
const OWN: &str = "models.json";

/// The models' files of this person.
///
/// # Errors
///
/// Where their own catalogue cannot be used.
pub(crate) fn shelf(paths: &Paths) -> Result<Shelf, ShelfError> {
    Ok(Shelf::new(paths.data.join(FOLDER), Catalogue::with_own(&paths.config.join(OWN))?))
}

/// The model for those who have no other.
pub(crate) fn embedded() -> Option<ModelRef> {
    Some(ModelRef::new(PROVIDER, DEFAULT_MODEL))
}

/// What can be chosen.
pub(crate) fn info() -> Option<ProviderInfo> {
    let names = Catalogue::builtin().entries().iter().map(|entry| entry.name.clone()).collect();
    Some(ProviderInfo::embedded(PROVIDER, "a small model inside goose", names))
}

/// The model with its name, where only `local` was said.
pub(crate) fn named(model: ModelRef) -> ModelRef {
    match embedded().filter(|_| super::is_meant(&model) && model.model().is_empty()) {
        Some(default) => default,
        None => model,
    }
}

/// Whether its file is here. Nothing is fetched.
pub(crate) fn standing(model: &ModelRef, settings: &Settings) -> Standing {
    let model = named(model.clone());
    let located = shelf(settings.paths()).and_then(|shelf| shelf.locate(model.model()));
    match located {
        Ok(Place::File(path)) => Standing::Here(path.display().to_string()),
        Ok(Place::Elsewhere(entry)) => Standing::Absent(format!(
            "run 'goose models pull {}' ({}), or {WAYS}",
            entry.name,
            size(entry.bytes)
        )),
        Err(error) => Standing::Broken(
            error.to_string(),
            error.hint().unwrap_or_else(|| "run 'goose models list'".to_owned()),
        ),
    }
}

/// The model, ready to be asked. Where its file is not here, it is fetched, if that may be.
///
/// # Errors
///
/// Where there is no such model, it may or can not be fetched, or it cannot be run.
pub(crate) async fn provider(
    model: &ModelRef,
    settings: &Settings,
    fetching: &Fetching,
) -> anyhow::Result<Arc<dyn Provider>> {
    let model = named(model.clone());
    made(&file(&model, settings, fetching).await?)
}

async fn file(model: &ModelRef, settings: &Settings, fetching: &Fetching) -> anyhow::Result<PathBuf> {
    let shelf = shelf(settings.paths()).map_err(explained)?;
    match shelf.locate(model.model()).map_err(explained)? {
        Place::File(path) => Ok(path),
        Place::Elsewhere(entry) => Ok(fetch(&shelf, &entry, settings, fetching).await?.path),
    }
}

/// The one place where the provider is made from a file.
fn made(file: &Path) -> anyhow::Result<Arc<dyn Provider>> {
    bail!("the model is here ({}), but this goose cannot run it yet.\nUntil it can, {WAYS}.", file.display())
}
