//! The model inside: where its file is, how it comes there, and the provider that runs it.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use goose::{
    config::{Paths, Settings},
    exchange::OwnModels,
};
use goose_local::{
    model_store::{Catalogue, DEFAULT_MODEL, ModelStore, ModelStoreError, Place, check_model},
    provider::{LocalOptions, LocalProvider, forget},
};
use goose_providers::{ModelRef, Provider, ProviderInfo};

use super::{Fetching, GOOD_FOR, PROVIDER, Standing};
use crate::{
    aside,
    choice::{Voice, WAYS},
    commands::{
        assemble::Keep,
        info::size,
        models::{explained, fetch::fetch},
    },
    output::FAINT,
    visible,
};

/// The folder with models' files, in the data folder.
const FOLDER: &str = "models";

/// The file with models that people add to the catalogue, in the config folder.
const OWN: &str = "models.json";

/// The setting that says how many threads compute.
const THREADS: &str = "GOOSE_LOCAL_THREADS";

/// The setting that says how many tokens are kept in mind.
const CONTEXT: &str = "GOOSE_CONTEXT_LIMIT";

/// The folder with conversations as the model remembers them, in the cache folder.
const KEPT: &str = "local";

/// The models' files of this person.
///
/// # Errors
///
/// Where their own catalogue cannot be used.
pub(crate) fn store(paths: &Paths) -> Result<ModelStore, ModelStoreError> {
    Ok(ModelStore::new(paths.data.join(FOLDER), Catalogue::with_own(&paths.config.join(OWN))?))
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

/// Whether its file is here, and one that runs. Nothing is fetched.
pub(crate) fn standing(model: &ModelRef, settings: &Settings) -> Standing {
    let model = named(model.clone());
    let located = store(settings.paths()).and_then(|store| checked(&store, &model));
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

fn checked(store: &ModelStore, model: &ModelRef) -> Result<Place, ModelStoreError> {
    let place = store.locate(model.model())?;
    if let Place::File(path) = &place {
        check_model(path)?;
    }
    Ok(place)
}

/// Forgets what the model keeps of a conversation.
///
/// # Errors
///
/// Where something of it is there and cannot be removed.
pub(crate) fn forgotten(paths: &Paths, conversation: &str) -> anyhow::Result<()> {
    let folder = paths.cache.join(KEPT);
    forget(&folder, conversation).with_context(|| {
        format!("what the local model keeps of it cannot be removed from {}", folder.display())
    })
}

/// What an exchange can go on with.
struct Switchable {
    settings: Settings,
    keep: Keep,
}

/// The models inside, for conversations that go on with one of them.
pub(crate) fn switchable(settings: &Settings, keep: Keep) -> Option<Arc<dyn OwnModels>> {
    Some(Arc::new(Switchable { settings: settings.clone(), keep }))
}

impl OwnModels for Switchable {
    fn service(&self) -> &str {
        PROVIDER
    }

    /// Nothing is fetched in the middle of a conversation.
    fn model(&self, name: &str) -> Result<Arc<dyn Provider>, String> {
        let model = named(ModelRef::new(PROVIDER, name));
        let place = store(self.settings.paths()).and_then(|store| checked(&store, &model));
        let made = place.map_err(explained).and_then(|place| match place {
            Place::File(path) => made(&model, path, &self.settings, self.keep),
            Place::Elsewhere(entry) => Err(explained(ModelStoreError::Absent { name: entry.name })),
        });
        made.map_err(|error| error.to_string())
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
    keep: Keep,
) -> anyhow::Result<Arc<dyn Provider>> {
    let model = named(model.clone());
    let file = file(&model, settings, fetching).await?;
    if fetching.voice == Voice::Aloud && aside::is_seen() {
        let name = visible::line(model.model());
        aside::line(format_args!("{FAINT}{name}: {GOOD_FOR}{FAINT:#}"));
    }
    made(&model, file, settings, keep)
}

async fn file(model: &ModelRef, settings: &Settings, fetching: &Fetching) -> anyhow::Result<PathBuf> {
    let store = store(settings.paths()).map_err(explained)?;
    match store.locate(model.model()).map_err(explained)? {
        Place::File(path) => Ok(path),
        Place::Elsewhere(entry) => Ok(fetch(&store, &entry, settings, fetching).await?.path),
    }
}

/// The one place where the provider is made from a file. The file is not opened before the model is asked.
fn made(
    model: &ModelRef,
    file: PathBuf,
    settings: &Settings,
    keep: Keep,
) -> anyhow::Result<Arc<dyn Provider>> {
    let options = LocalOptions::new(model.model(), file)
        .with_threads(settings.get(THREADS)?)
        .with_context(settings.get(CONTEXT)?)
        .with_cache(settings.paths().cache.join(KEPT));
    let options = match keep {
        Keep::Saved => options,
        Keep::Unsaved => options.without_memory(),
    };
    Ok(Arc::new(LocalProvider::new(options)))
}
