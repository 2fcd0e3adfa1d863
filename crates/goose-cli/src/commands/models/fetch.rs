//! Downloads as the user sees them: the question before, the progress, the end.

use goose_extension::prelude::async_trait;
use goose_local::{
    DownloadProgress, Downloads,
    model_store::{CatalogueEntry, ModelStore, State},
};

use super::progress::Progress;
use crate::{
    aside,
    choice::Voice,
    commands::info::size,
    local::{Fetching, GOOD_FOR},
    output::{FAINT, NAME},
    settings::Consent,
    terminal::input::Typed,
    visible,
};

#[async_trait]
impl Downloads for Fetching {
    async fn confirm(&self, store: &ModelStore, entry: &CatalogueEntry) -> Result<(), String> {
        let CatalogueEntry { name, title, licence, bytes, .. } = entry;
        if self.consent == Consent::Given {
            return Ok(());
        }
        if !aside::can_ask() {
            return Err(format!(
                "The model {name} isn't downloaded yet ({}, {licence}), and there is no terminal to ask for \
                 confirmation.\nDownload it with `goose models pull {name} --yes`, or set GOOSE_YES=1 to confirm \
                 automatically.",
                size(*bytes)
            ));
        }
        let turn = self.input.turn().await;
        aside::line(format_args!("{NAME}{name}{NAME:#} isn't downloaded yet: {}.", visible::line(title)));
        aside::line(format_args!("  size     {}{}", size(*bytes), had(store, name)));
        aside::line(format_args!("  licence  {}", visible::line(licence)));
        let sources: Vec<String> = entry.sources.iter().map(ToString::to_string).collect();
        aside::line(format_args!("  from     {}", visible::line(&sources.join(", else "))));
        aside::line(format_args!("  to       {}", visible::line(&store.folder().display().to_string())));
        match turn.answer("Download it now? (y/n) ").await {
            Typed::Text(text) if matches!(text.trim(), "y" | "yes") => Ok(()),
            _ => Err("Nothing was downloaded.".to_owned()),
        }
    }

    fn begin(&self) -> Box<dyn DownloadProgress> {
        Box::new(Progress::new(self.voice))
    }

    fn ready(&self, model: &str) {
        if self.voice == Voice::Aloud && aside::is_seen() {
            aside::line(format_args!("{FAINT}{}: {GOOD_FOR}{FAINT:#}", visible::line(model)));
        }
    }
}

/// Says how much is downloaded from before.
fn had(store: &ModelStore, name: &str) -> String {
    match store.item(name).map(|item| item.state) {
        Ok(State::Part { bytes }) => format!(", of which {} are downloaded", size(bytes)),
        _ => String::new(),
    }
}
