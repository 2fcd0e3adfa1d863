//! Fetching a model, after the person has agreed to it.

use anyhow::{anyhow, bail};
use goose_local::model_store::{CatalogueEntry, ModelStore, PullOptions, Pulled, State, WAYS_OUT};
use goose_providers::Lookup;

use super::{explained, progress::Progress};
use crate::{
    aside,
    choice::Voice,
    commands::info::size,
    local::Fetching,
    output::{FAINT, NAME},
    settings::Consent,
    terminal::input::Typed,
    visible,
};

/// The setting with the model hub's address.
const HUB: &str = "HF_ENDPOINT";

/// Fetches a model.
///
/// # Errors
///
/// Where it may not or cannot be fetched, with all ways out.
pub(crate) async fn fetch(
    store: &ModelStore,
    entry: &CatalogueEntry,
    lookup: &dyn Lookup,
    fetching: &Fetching,
) -> anyhow::Result<Pulled> {
    let hub = lookup.value(HUB)?;
    let options = PullOptions::new(hub.as_deref()).map_err(|error| anyhow!("{HUB}: {error}"))?;
    agreed(store, entry, fetching).await?;
    let progress = Progress::new(fetching.voice);
    let pulled = store.pull(&entry.name, &options, &|event| progress.event(&event)).await;
    progress.end();
    let pulled = pulled.map_err(explained)?;
    if fetching.voice == Voice::Aloud && !pulled.was_here {
        let path = pulled.path.display().to_string();
        let line = format!("{} is here, and its hash is right: {}", entry.name, visible::line(&path));
        aside::line(format_args!("{FAINT}{line}{FAINT:#}"));
    }
    Ok(pulled)
}

/// Asks, where that is not said already.
async fn agreed(store: &ModelStore, entry: &CatalogueEntry, fetching: &Fetching) -> anyhow::Result<()> {
    let CatalogueEntry { name, title, licence, bytes, .. } = entry;
    if fetching.consent == Consent::Given {
        return Ok(());
    }
    if !aside::can_ask() {
        bail!(
            "The model {name} is not here yet ({}, {licence}), and nobody can be asked whether to fetch it.\nFetch it \
             with `goose models pull {name} --yes`, or set GOOSE_YES=1, which stands for the answer.\n{WAYS_OUT}",
            size(*bytes)
        );
    }
    let turn = fetching.input.turn().await;
    aside::line(format_args!("{NAME}{name}{NAME:#} is not here yet: {}.", visible::line(title)));
    aside::line(format_args!("  size     {}{}", size(*bytes), had(store, name)));
    aside::line(format_args!("  licence  {}", visible::line(licence)));
    let sources: Vec<String> = entry.sources.iter().map(ToString::to_string).collect();
    aside::line(format_args!("  from     {}", visible::line(&sources.join(", else "))));
    aside::line(format_args!("  to       {}", visible::line(&store.folder().display().to_string())));
    match turn.answer("Fetch it now? (y/n) ").await {
        Typed::Text(text) if matches!(text.trim(), "y" | "yes") => Ok(()),
        _ => bail!("Nothing was fetched.\n{WAYS_OUT}"),
    }
}

/// How much of it is here from before.
fn had(store: &ModelStore, name: &str) -> String {
    match store.item(name).map(|item| item.state) {
        Ok(State::Part { bytes }) => format!(", of which {} are here", size(bytes)),
        _ => String::new(),
    }
}
