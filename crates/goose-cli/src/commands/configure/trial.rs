//! One short question to the model that was chosen.

use std::{path::Path, sync::Arc, time::Duration};

use goose::config::{Paths, Settings, SettingsSource};
use goose_extension::Message;
use goose_providers::{ModelRef, Provider, ProviderError, Reply, Request, RequestOptions};

use crate::{
    choice::Voice,
    commands::assemble::Keep,
    local::{self, Consent, Fetching},
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
    let source = SettingsSource::of_this_process(Paths::from_env()?);
    let settings = Settings::load(source.with_config_file(Some(file.to_owned())))?;
    let Some(model) = settings.profile(None)?.processor else {
        return Ok("  No model is chosen.".to_owned());
    };
    let provider = match provider(&model, &settings)? {
        Ok(provider) => provider,
        Err(why) => return Ok(why),
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

/// Somebody to ask, or why there is nobody.
fn provider(model: &ModelRef, settings: &Settings) -> anyhow::Result<Result<Arc<dyn Provider>, String>> {
    if local::is_meant(model) {
        let input = Arc::new(Input::new(None));
        let fetching = Fetching { consent: Consent::of(false, settings), voice: Voice::Aloud, input };
        let made = runtime()?.block_on(local::provider(model, settings, &fetching, Keep::Unsaved));
        return Ok(made.map_err(|error| failed(&error.to_string(), None)));
    }
    let provider = settings.registry().provider(model, settings, &settings.model_overrides()?);
    Ok(provider.map_err(|error| failed(&error.to_string(), error.hint())))
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
