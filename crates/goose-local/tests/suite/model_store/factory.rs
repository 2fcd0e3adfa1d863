//! Factory: downloads only with consent, and providers for files that exist.

use std::{collections::BTreeMap, fs, sync::Arc};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use goose_local::{
    DownloadProgress, Downloads, LocalModels,
    model_store::{CatalogueEntry, Event, ModelStore, PulledModel},
};
use goose_providers::ProviderFactory as _;
use goose_test_support::tiny_model;
use parking_lot::Mutex;

use super::{NAME, good_hub, hub_source, sha256};

type Log = Arc<Mutex<Vec<String>>>;

/// User who always gives the same answer, and a log of what was shown.
struct User {
    answer: Result<(), String>,
    log: Log,
}

struct ProgressLog(Log);

fn note(log: &Log, what: String) {
    log.lock().push(what);
}

#[async_trait]
impl Downloads for User {
    async fn confirm(&self, _: &ModelStore, entry: &CatalogueEntry) -> Result<(), String> {
        note(&self.log, format!("asked for {}", entry.name));
        self.answer.clone()
    }

    fn begin(&self) -> Box<dyn DownloadProgress> {
        Box::new(ProgressLog(Arc::clone(&self.log)))
    }

    fn ready(&self, model: &str) {
        note(&self.log, format!("ready: {model}"));
    }
}

impl DownloadProgress for ProgressLog {
    fn event(&self, event: &Event<'_>) {
        if let Event::Bytes { bytes, total } = event
            && bytes == total
        {
            note(&self.0, "all bytes".to_owned());
        }
    }

    fn end(self: Box<Self>, pulled: Option<&PulledModel>) {
        note(&self.0, format!("ended: {}", pulled.is_some()));
    }
}

#[tokio::test]
async fn a_missing_model_is_downloaded_after_consent_only() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let folders = ["data", "config", "cache"].map(|name| folder.path().join(name));
    let [data, config, cache] = &folders;
    fs::create_dir_all(config)?;
    let written = folder.path().join("tiny.gguf");
    tiny_model::write(&written, 1)?;
    let file = fs::read(&written)?;
    let entry = CatalogueEntry {
        name: NAME.to_owned(),
        title: "A tiny one".to_owned(),
        bytes: file.len() as u64,
        sha256: sha256(&file)?,
        licence: "CC0-1.0".to_owned(),
        context: 64,
        sources: vec![hub_source()],
    };
    fs::write(config.join("models.json"), serde_json::to_vec(&[entry])?)?;
    let hub = good_hub(file)?;
    let lookup = BTreeMap::from([("HF_ENDPOINT".to_owned(), hub.url())]);
    let log = Log::default();
    let models = |answer: Option<Result<(), String>>| {
        let user =
            answer.map(|answer| -> Arc<dyn Downloads> { Arc::new(User { answer, log: Arc::clone(&log) }) });
        LocalModels::new(data, config, cache).with_downloads(user)
    };

    models(None).fetch(NAME, &lookup).await?;
    let error = models(None).build(NAME, &lookup).err().context("there is no file")?;
    ensure!(error.to_string().contains("isn't downloaded yet") && error.hint().is_some(), "{error}");
    let declined = models(Some(Err("not now".to_owned()))).fetch(NAME, &lookup).await;
    assert_eq!(declined.err().context("it was declined")?.to_string(), "not now");
    ensure!(hub.asked().is_empty());

    models(Some(Ok(()))).fetch(NAME, &lookup).await?;
    models(Some(Ok(()))).fetch(NAME, &lookup).await?;
    let wanted =
        ["asked for tiny", "asked for tiny", "all bytes", "ended: true", "ready: tiny", "ready: tiny"];
    assert_eq!(*log.lock(), wanted);
    let provider = models(None).build(NAME, &lookup)?;
    assert_eq!((provider.name(), provider.model().name.as_str()), ("local", NAME));

    let wrong = BTreeMap::from([("GOOSE_LOCAL_THREADS".to_owned(), "many".to_owned())]);
    let error = models(None).build(NAME, &wrong).err().context("that is not a number")?;
    ensure!(error.to_string().contains("GOOSE_LOCAL_THREADS"), "{error}");
    Ok(())
}
