//! `goose models pull`.

use std::process::ExitCode;

use goose::config::Settings;
use goose_local::{
    download,
    model_store::{DEFAULT_MODEL, ModelStore, ModelStoreError, State},
};

use super::{explained, say};
use crate::local::Fetching;

pub(super) async fn run(
    store: &ModelStore,
    settings: &Settings,
    name: Option<&str>,
    fetching: &Fetching,
) -> anyhow::Result<ExitCode> {
    let name = name.unwrap_or(DEFAULT_MODEL);
    let item = store.item(name).map_err(explained)?;
    let path = item.path.display().to_string();
    match (item.state, item.entry) {
        (State::Here { .. }, _) => say(&format!("{name} is already downloaded: {path}"))?,
        (_, Some(entry)) => {
            let pulled = download(store, &entry, settings, fetching).await.map_err(explained)?;
            say(&pulled.path.display().to_string())?;
        }
        (_, None) => return Err(explained(ModelStoreError::Absent { name: name.to_owned() })),
    }
    Ok(ExitCode::SUCCESS)
}
