//! Model store: files on disk, and downloads. Servers run on loopback, and pip is a script.

mod factory;
mod files;
mod hub;
mod pip;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use goose_local::model_store::{
    Catalogue, CatalogueEntry, Event, ModelStore, ModelStoreError, PullOptions, PulledModel, Source,
};
use goose_test_support::{HttpAnswer, Loopback};
use parking_lot::Mutex;
use tempfile::TempDir;

/// Name of the model in these tests.
const NAME: &str = "tiny";

/// Returns a file in which only the header is valid.
fn model(bytes: usize) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    // The bytes vary, so that a misplaced piece is noticed.
    file.extend(
        (0u32..).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).take(bytes - file.len()),
    );
    file
}

fn hub_source() -> Source {
    Source::Hub { repository: "maker/models".to_owned(), file: "tiny-q4.gguf".to_owned() }
}

/// Path of the request to the hub.
const HUB_PATH: &str = "/maker/models/resolve/main/tiny-q4.gguf";

/// Store in a temporary folder, whose catalogue has one model.
struct TestStore {
    folder: TempDir,
    store: ModelStore,
    options: PullOptions,
    events: Mutex<Vec<String>>,
}

impl TestStore {
    fn new(file: &[u8], sources: Vec<Source>) -> anyhow::Result<Self> {
        let entry = CatalogueEntry {
            name: NAME.to_owned(),
            title: "A tiny one".to_owned(),
            bytes: file.len() as u64,
            sha256: sha256(file)?,
            licence: "CC0-1.0".to_owned(),
            context: 64,
            sources,
        };
        Self::from_entry(&entry)
    }

    fn from_entry(entry: &CatalogueEntry) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let own = folder.path().join("models.json");
        std::fs::write(&own, serde_json::to_vec(&[entry])?)?;
        let store = ModelStore::new(folder.path().join("models"), Catalogue::with_user_entries(&own)?);
        let mut options = PullOptions::new(Some("http://127.0.0.1:9"))?;
        options.pause = Duration::from_millis(5);
        options.pip.clear();
        Ok(Self { folder, store, options, events: Mutex::default() })
    }

    /// Sets the hub.
    fn with_hub(mut self, server: &Loopback) -> anyhow::Result<Self> {
        self.options.hub = PullOptions::new(Some(&server.url()))?.hub;
        Ok(self)
    }

    async fn pull(&self) -> Result<PulledModel, ModelStoreError> {
        let tell = |event: Event<'_>| {
            self.events.lock().push(format!("{event:?}"));
        };
        self.store.pull(NAME, &self.options, &tell).await
    }

    /// Returns the events of one kind.
    fn events(&self, kind: &str) -> Vec<String> {
        let events = self.events.lock();
        events.iter().filter(|event| event.starts_with(kind)).cloned().collect()
    }

    fn file(&self) -> PathBuf {
        self.store.folder().join(format!("{NAME}.gguf"))
    }

    fn part(&self) -> PathBuf {
        self.store.folder().join(format!("{NAME}.gguf.part"))
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Checks that the folder contains only the complete file and the lock.
    fn is_done(&self, file: &[u8]) -> anyhow::Result<()> {
        anyhow::ensure!(std::fs::read(self.file())? == file, "it is another file");
        let mut names: Vec<String> = std::fs::read_dir(self.store.folder())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        assert_eq!(names, ["tiny.gguf", "tiny.gguf.lock"]);
        Ok(())
    }
}

/// Starts a hub that supports ranges.
fn good_hub(file: Vec<u8>) -> anyhow::Result<Loopback> {
    Loopback::answering(move |asked| {
        if asked.path == HUB_PATH { HttpAnswer::file(asked, &file) } else { HttpAnswer::new(404, "") }
    })
}

/// Computes the checksum with a program of the system.
fn sha256(bytes: &[u8]) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    std::fs::write(&file, bytes)?;
    let sum = ["sha256sum", "shasum"].iter().find_map(|program| {
        let mut command = std::process::Command::new(program);
        if *program == "shasum" {
            command.args(["-a", "256"]);
        }
        command.arg(&file).output().ok().filter(|output| output.status.success())
    });
    let sum = String::from_utf8(anyhow::Context::context(sum, "no program for hashes")?.stdout)?;
    Ok(sum.split_whitespace().next().unwrap_or_default().to_owned())
}
