//! One short question to the model that was chosen.

use std::{path::Path, sync::Arc, time::Duration};

use goose::config::{Paths, Settings, SettingsSource};
use goose_extension::Message;
use goose_providers::{Provider, ProviderError, Reply, Request, RequestOptions};

use crate::{
    choice::Voice,
    local::{self, Fetching},
    settings::Consent,
    supervise::runtime,
    terminal::input::Input,
    visible,
};

/// How long the model may take for a word.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much of the answer is shown.
const SHOWN_CHARACTERS: usize = 200;

/// Asks the model that the file names; what came of it, as a line.
pub(super) fn run(file: &Path) -> anyhow::Result<String> {
    let paths = Paths::from_env()?;
    let consent = Consent::new(false, local::YES);
    let fetching = Fetching { consent, voice: Voice::Aloud, input: Arc::new(Input::new(None)) };
    let source = SettingsSource::of_this_process(paths.clone())
        .with_config_file(Some(file.to_owned()))
        .with_factory(local::factory(&paths, Some(fetching)));
    let settings = Settings::load(source)?;
    let Some(model) = settings.profile(None)?.processor else {
        return Ok("  No model is chosen.".to_owned());
    };
    let (registry, overrides) = (settings.registry(), settings.model_overrides()?);
    let fetched = runtime()?.block_on(registry.fetch(&model, &settings));
    let provider = match fetched.and_then(|()| registry.provider(&model, &settings, &overrides)) {
        Ok(provider) => provider,
        Err(error) => return Ok(failed(&error.to_string(), error.hint())),
    };
    let answered = runtime()?.block_on(async { tokio::time::timeout(PATIENCE, ask(&*provider)).await });
    Ok(match answered {
        Ok(Ok(answer)) => {
            let shown: String = answer.trim().chars().take(SHOWN_CHARACTERS).collect();
            format!("  It works. {model} says: {}", visible::line(&shown))
        }
        Ok(Err(error)) => failed(&error.to_string(), error.hint()),
        Err(_) => failed(&format!("nothing came within {} seconds", PATIENCE.as_secs()), None),
    })
}

async fn ask(provider: &dyn Provider) -> Result<String, ProviderError> {
    let messages = [Arc::new(Message::user("Say hello in one short sentence."))];
    let options = RequestOptions::default();
    let request = Request {
        system: "You answer in one short sentence.",
        messages: &messages,
        tools: &[],
        options: &options,
    };
    Ok(Reply::collect(provider.stream(request).await?).await?.message.text())
}

fn failed(why: &str, hint: Option<String>) -> String {
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("  It does not work: {}{}", visible::line(why), visible::line(&hint))
}
