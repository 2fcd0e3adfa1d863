//! The models inside goose: where their files are, and the factory that runs them as the provider `local`.

use std::{fmt::Display, str::FromStr, sync::Arc};

use anyhow::Context as _;
use goose::config::Paths;
use goose_extension::prelude::async_trait;
use goose_local::{
    model_store::{Catalogue, ModelStore, ModelStoreError, Place, check_model},
    provider::{LocalOptions, LocalProvider, forget},
};
use goose_providers::{Lookup, LookupError, ModelRef, Provider, ProviderFactory, ProviderInfo, SetupError};

use super::{Fetching, GOOD_FOR, ModelStatus, PROVIDER};
use crate::{
    aside,
    choice::{Voice, WAYS},
    commands::{info::size, models::fetch::fetch},
    output::FAINT,
    visible,
};

/// The folder with models' files, in the data folder.
const FOLDER: &str = "models";

/// The file with models that people add to the catalogue, in the config folder.
const OWN: &str = "models.json";

/// The setting that says how many threads compute.
const THREADS: &str = "GOOSE_LOCAL_THREADS";

/// The setting that says how many tokens fit into the context.
const CONTEXT: &str = "GOOSE_CONTEXT_LIMIT";

/// The folder with computed states of conversations, in the cache folder.
const STATES: &str = "local";

/// The models' files of this person.
///
/// # Errors
///
/// Fails if their own catalogue cannot be used.
pub(crate) fn store(paths: &Paths) -> Result<ModelStore, ModelStoreError> {
    Ok(ModelStore::new(paths.data.join(FOLDER), Catalogue::with_own(&paths.config.join(OWN))?))
}

/// Returns whether the model's file is here, and one that runs. Nothing is fetched.
pub(crate) fn status(model: &ModelRef, paths: &Paths) -> ModelStatus {
    match store(paths).and_then(|store| checked(&store, model.model())) {
        Ok(Place::File(path)) => ModelStatus::Here(path.display().to_string()),
        Ok(Place::Elsewhere(entry)) => ModelStatus::Absent(format!(
            "run 'goose models pull {}' ({}), or {WAYS}",
            entry.name,
            size(entry.bytes)
        )),
        Err(error) => ModelStatus::Broken(
            error.to_string(),
            error.hint().unwrap_or_else(|| "run 'goose models list'".to_owned()),
        ),
    }
}

fn checked(store: &ModelStore, model: &str) -> Result<Place, ModelStoreError> {
    let place = store.locate(model)?;
    if let Place::File(path) = &place {
        check_model(path)?;
    }
    Ok(place)
}

/// Removes what the local model keeps of a conversation.
///
/// # Errors
///
/// Fails if something of it cannot be removed.
pub(crate) fn forget_session(paths: &Paths, conversation: &str) -> anyhow::Result<()> {
    let folder = paths.cache.join(STATES);
    forget(&folder, conversation).with_context(|| {
        format!("what the local model keeps of it cannot be removed from {}", folder.display())
    })
}

/// The models inside goose, for the registry. Without `fetching`, none is fetched.
pub(crate) fn factory(paths: &Paths, fetching: Option<Fetching>) -> Option<Arc<dyn ProviderFactory>> {
    Some(Arc::new(LocalModels { paths: paths.clone(), fetching }))
}

struct LocalModels {
    paths: Paths,
    fetching: Option<Fetching>,
}

#[async_trait]
impl ProviderFactory for LocalModels {
    fn name(&self) -> &str {
        PROVIDER
    }

    fn info(&self) -> ProviderInfo {
        let names = Catalogue::builtin().entries().iter().map(|entry| entry.name.clone()).collect();
        ProviderInfo::embedded(PROVIDER, "a small model inside goose", names)
    }

    async fn fetch(&self, model: &str, lookup: &dyn Lookup) -> Result<(), SetupError> {
        let Some(fetching) = &self.fetching else { return Ok(()) };
        let store = store(&self.paths).map_err(setup_error)?;
        if let Place::Elsewhere(entry) = store.locate(model).map_err(setup_error)? {
            let fetched = fetch(&store, &entry, lookup, fetching).await;
            fetched.map_err(|error| SetupError::Embedded { message: format!("{error:#}"), hint: None })?;
        }
        if fetching.voice == Voice::Aloud && aside::is_seen() {
            aside::line(format_args!("{FAINT}{}: {GOOD_FOR}{FAINT:#}", visible::line(model)));
        }
        Ok(())
    }

    fn build(&self, model: &str, lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError> {
        let place = store(&self.paths).and_then(|store| checked(&store, model));
        let file = match place.map_err(setup_error)? {
            Place::File(path) => path,
            Place::Elsewhere(entry) => return Err(setup_error(ModelStoreError::Absent { name: entry.name })),
        };
        let options = LocalOptions::new(model, file)
            .with_threads(number(lookup, THREADS)?)
            .with_context(number(lookup, CONTEXT)?)
            .with_cache(self.paths.cache.join(STATES));
        Ok(Arc::new(LocalProvider::new(options)))
    }
}

fn setup_error(error: ModelStoreError) -> SetupError {
    SetupError::Embedded { message: error.to_string(), hint: error.hint() }
}

fn number<T: FromStr<Err: Display>>(lookup: &dyn Lookup, variable: &str) -> Result<Option<T>, SetupError> {
    let found = lookup.value(variable).map_err(|error| match error {
        LookupError::Unreadable(reason) | LookupError::NoAnswer(reason) => SetupError::Unreadable { reason },
    })?;
    let parsed = found.map(|text| text.trim().parse()).transpose();
    parsed.map_err(|error: T::Err| SetupError::BadSetting {
        variable: variable.to_owned(),
        reason: error.to_string(),
    })
}
