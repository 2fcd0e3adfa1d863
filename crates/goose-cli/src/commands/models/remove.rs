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
    say(&format!("Removed {name}; {} are free again.", size(freed)))?;
    Ok(ExitCode::SUCCESS)
}

/// A file of the person's own cannot be fetched again.
async fn agreed(item: &Item, consent: Consent) -> anyhow::Result<bool> {
    if consent == Consent::Given {
        return Ok(true);
    }
    if !aside::can_ask() {
        bail!(
            "{} is a file of your own, which goose cannot fetch again, and nobody can be asked. Say --yes to remove it.",
            item.name
        );
    }
    let question = format!("{} is a file of your own. Remove it for good? (y/n) ", item.name);
    let typed = Arc::new(Input::new(None)).turn().await.answer(&question).await;
    Ok(matches!(typed, Typed::Text(text) if matches!(text.trim(), "y" | "yes")))
}
