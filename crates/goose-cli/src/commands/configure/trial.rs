//! A test message to the configured model.

use std::{path::Path, sync::Arc, time::Duration};

use goose::config::{Paths, Settings, SettingsSource};
use goose_extension::Message;
use goose_providers::{Provider, ProviderError, Reply, Request, RequestOptions};

use crate::{
    args::Consent,
    builtins::SERVICES,
    choice::Verbosity,
    escape,
    local::{self, Fetching},
    runtime::new_runtime,
    terminal::input::Input,
};

/// Time limit of the test.
const TEST_TIME: Duration = Duration::from_secs(60);

/// Maximum length of the shown answer.
const SHOWN_CHARACTERS: usize = 200;

/// Sends a short message to the configured model and describes the outcome in a line.
pub(super) fn test_model(file: &Path) -> anyhow::Result<String> {
    let paths = Paths::from_env()?;
    let consent = Consent::new(false, local::YES);
    let fetching = Fetching { consent, verbosity: Verbosity::Normal, input: Arc::new(Input::new(None)) };
    let source = SettingsSource::of_this_process(paths.clone())
        .with_builtins(SERVICES)
        .with_config_file(Some(file.to_owned()))
        .with_factory(local::factory(&paths, Some(fetching)));
    let settings = Settings::load(source)?;
    let Some(model) = settings.profile(None)?.processor else {
        return Ok("  No model is configured.".to_owned());
    };
    let (registry, overrides) = (settings.registry(), settings.model_overrides()?);
    let fetched = new_runtime()?.block_on(registry.fetch(&model, &settings));
    let provider = match fetched.and_then(|()| registry.provider(&model, &settings, &overrides)) {
        Ok(provider) => provider,
        Err(error) => return Ok(failed(&error.to_string(), error.hint())),
    };
    let answered =
        new_runtime()?.block_on(async { tokio::time::timeout(TEST_TIME, say_hello(&*provider)).await });
    Ok(match answered {
        Ok(Ok(answer)) => {
            let shown: String = answer.trim().chars().take(SHOWN_CHARACTERS).collect();
            format!("  The test succeeded. {model} says: {}", escape::line(&shown))
        }
        Ok(Err(error)) => failed(&error.to_string(), error.hint()),
        Err(_) => failed(&format!("no answer within {} seconds", TEST_TIME.as_secs()), None),
    })
}

async fn say_hello(provider: &dyn Provider) -> Result<String, ProviderError> {
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
    format!("  The test failed: {}{}", escape::line(why), escape::line(&hint))
}
