//! [`LocalModels`]: local models as a provider factory. It finds and checks a model's file, downloads it
//! with the user's consent, and builds the provider. The program that registers the factory asks the user
//! and shows the progress ([`Downloads`]).

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use async_trait::async_trait;
use goose_providers::{Lookup, LookupError, Provider, ProviderFactory, ProviderInfo, SetupError};

use crate::{
    model_store::{
        Catalogue, CatalogueEntry, Event, HUB_SETTING, ModelStore, ModelStoreError, Place, PullOptions,
        PulledModel, check_model,
    },
    needs::Needs,
    provider::{LoadOptions, LocalProvider, PROVIDER_NAME, ServedProvider, bounded_context, forget},
};

/// Folder with model files, in the data folder.
const MODELS: &str = "models";

/// User's catalogue, in the config folder.
const USER_CATALOGUE: &str = "models.json";

/// Folder with computed states of conversations, in the cache folder.
const STATES: &str = "local";

/// Setting for the number of compute threads.
const THREADS: &str = "GOOSE_LOCAL_THREADS";

/// Setting for the maximum number of tokens of a conversation.
const CONTEXT: &str = "GOOSE_CONTEXT_LIMIT";

/// Default context, in tokens.
const DEFAULT_CONTEXT: usize = 8_192;

/// User interface of downloads.
#[async_trait]
pub trait Downloads: Send + Sync {
    /// Asks the user whether a model may be downloaded.
    ///
    /// # Errors
    ///
    /// The reason for not downloading it, worded for the user.
    async fn confirm(&self, store: &ModelStore, entry: &CatalogueEntry) -> Result<(), String>;

    /// Starts to show a download.
    fn begin(&self) -> Box<dyn DownloadProgress>;

    /// Called before a downloaded model is used.
    fn ready(&self, model: &str);
}

/// Display of one download. If it is dropped before [`end`](Self::end), the download was cancelled.
pub trait DownloadProgress: Send + Sync {
    /// Shows an event. Called often, so it should return quickly.
    fn event(&self, event: &Event<'_>);

    /// Called when the download has ended. `pulled` is none if it failed.
    fn end(self: Box<Self>, pulled: Option<&PulledModel>);
}

/// Downloads a model after the user has agreed.
///
/// # Errors
///
/// The user declined, or the download failed.
pub async fn download(
    store: &ModelStore,
    entry: &CatalogueEntry,
    lookup: &dyn Lookup,
    downloads: &dyn Downloads,
) -> Result<PulledModel, ModelStoreError> {
    let hub = lookup.value(HUB_SETTING).map_err(|error| ModelStoreError::Setting(error.to_string()))?;
    let options = PullOptions::new(hub.as_deref())?;
    downloads.confirm(store, entry).await.map_err(ModelStoreError::Declined)?;
    let progress = downloads.begin();
    let pulled = store.pull(&entry.name, &options, &|event| progress.event(&event)).await;
    progress.end(pulled.as_ref().ok());
    pulled
}

/// Local models of one user.
pub struct LocalModels {
    models: PathBuf,
    user_catalogue: PathBuf,
    states: PathBuf,
    downloads: Option<Arc<dyn Downloads>>,
}

impl LocalModels {
    /// Creates the factory over goose's folders. Downloads nothing.
    pub fn new(data: &Path, config: &Path, cache: &Path) -> Self {
        Self {
            models: data.join(MODELS),
            user_catalogue: config.join(USER_CATALOGUE),
            states: cache.join(STATES),
            downloads: None,
        }
    }

    /// Enables downloads of missing models, with the consent that `downloads` obtains.
    #[must_use]
    pub fn with_downloads(mut self, downloads: Option<Arc<dyn Downloads>>) -> Self {
        self.downloads = downloads;
        self
    }

    /// Opens the model store.
    ///
    /// # Errors
    ///
    /// The user's catalogue is invalid.
    pub fn store(&self) -> Result<ModelStore, ModelStoreError> {
        Ok(ModelStore::new(&self.models, Catalogue::with_user_entries(&self.user_catalogue)?))
    }

    /// Finds a model's file and checks that the engine can run it. Downloads nothing.
    ///
    /// # Errors
    ///
    /// The model is unknown, or its file cannot be used.
    pub fn locate(&self, model: &str) -> Result<Place, ModelStoreError> {
        let place = self.store()?.locate(model)?;
        if let Place::File(path) = &place {
            check_model(path)?;
        }
        Ok(place)
    }

    /// Returns the memory that a downloaded model needs with these settings.
    ///
    /// # Errors
    ///
    /// The model is unknown, its file cannot be used, or a setting is invalid.
    pub fn needs(&self, model: &str, lookup: &dyn Lookup) -> Result<Needs, SetupError> {
        let mut options = self.options(model, lookup)?;
        let facts = check_model(&options.file)?;
        let bytes = fs::metadata(&options.file)
            .map_err(|error| ModelStoreError::io("read", &options.file, error))?
            .len();
        options.context = bounded_context(options.context, facts.context_length);
        Ok(Needs::new(&facts, bytes, options))
    }

    fn options(&self, model: &str, lookup: &dyn Lookup) -> Result<LoadOptions, SetupError> {
        let file = match self.locate(model)? {
            Place::File(path) => path,
            Place::Elsewhere(entry) => return Err(ModelStoreError::Absent { name: entry.name }.into()),
        };
        Ok(LoadOptions {
            file,
            threads: number(lookup, THREADS)?,
            context: number(lookup, CONTEXT)?.unwrap_or(DEFAULT_CONTEXT),
            cache: Some(self.states.clone()),
        })
    }

    /// Removes the computed states of a conversation.
    ///
    /// # Errors
    ///
    /// A state cannot be removed.
    pub fn forget(&self, conversation: &str) -> io::Result<()> {
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.states.display()));
        forget(&self.states, conversation).map_err(failed)
    }
}

#[async_trait]
impl ProviderFactory for LocalModels {
    fn name(&self) -> &str {
        PROVIDER_NAME
    }

    fn info(&self) -> ProviderInfo {
        let names = Catalogue::builtin().entries().iter().map(|entry| entry.name.clone()).collect();
        ProviderInfo::embedded(PROVIDER_NAME, "a small model inside goose", names)
    }

    async fn fetch(&self, model: &str, lookup: &dyn Lookup) -> Result<(), SetupError> {
        let Some(downloads) = self.downloads.as_deref() else { return Ok(()) };
        let store = self.store()?;
        if let Place::Elsewhere(entry) = store.locate(model)? {
            download(&store, &entry, lookup, downloads).await?;
        }
        downloads.ready(model);
        Ok(())
    }

    fn build(&self, model: &str, lookup: &dyn Lookup) -> Result<Arc<dyn Provider>, SetupError> {
        Ok(Arc::new(LocalProvider::new(model, self.options(model, lookup)?)))
    }

    fn for_small_model(&self, provider: Arc<dyn Provider>) -> Option<Arc<dyn Provider>> {
        Some(Arc::new(ServedProvider::new(provider)))
    }
}

impl From<ModelStoreError> for SetupError {
    fn from(error: ModelStoreError) -> Self {
        Self::Embedded { message: error.to_string(), hint: error.hint() }
    }
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
