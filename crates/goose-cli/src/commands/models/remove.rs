//! `goose models remove`.

use std::{process::ExitCode, sync::Arc};

use anyhow::bail;
use goose_local::model_store::{Item, ModelStore};

use super::{explained, say};
use crate::{
    aside,
    commands::info::size,
    settings::Consent,
    terminal::input::{Input, Typed},
};

pub(super) async fn run(store: &ModelStore, name: &str, consent: Consent) -> anyhow::Result<ExitCode> {
    let item = store.item(name).map_err(explained)?;
    if item.entry.is_none() && !agreed(&item, consent).await? {
        return Ok(ExitCode::FAILURE);
    }
    let freed = store.remove(name).map_err(explained)?;
    say(&format!("Removed {name}; freed {}.", size(freed)))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks before a file of the user's own is removed: it cannot be downloaded again.
async fn agreed(item: &Item, consent: Consent) -> anyhow::Result<bool> {
    if consent == Consent::Given {
        return Ok(true);
    }
    if !aside::can_ask() {
        bail!(
            "{} is your own file, which goose cannot download again, and there is no terminal to ask for confirmation. Use --yes to remove it.",
            item.name
        );
    }
    let question = format!("{} is your own file. Delete it permanently? (y/n) ", item.name);
    let typed = Arc::new(Input::new(None)).turn().await.answer(&question).await;
    Ok(matches!(typed, Typed::Text(text) if matches!(text.trim(), "y" | "yes")))
}
