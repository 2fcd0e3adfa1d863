//! `goose configure` step by step, with menus. Enter keeps the current value; each answer is written at once, the provider together
//! with its key and model.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use goose::config::{
    ConfigEditor, ConfigError, ExtensionConfig, Paths, Secret, Secrets as _, Settings, SettingsSource,
    Switch, looks_secret, shown_value,
};
use goose_extension::Message;
use goose_providers::{
    ApiKey, Choice, LookedUp, Lookup, Provider, ProviderError, ProviderInfo, Registry, Reply, Request,
    RequestOptions,
};
use serde_json::json;
use url::Url;

use super::{
    asking::Terminal,
    choices::{MODES, find_mode},
    keys,
};
use crate::{
    args::Consent,
    builtins::{self, SERVICES},
    choice::Verbosity,
    escape,
    local::{self, Fetching},
    runtime::new_runtime,
    terminal::input::Input,
};

/// Ending of the setting with the address of a service.
const ADDRESS: &str = "_HOST";

/// Entry that ends the choice of extensions.
const DONE: &str = "Done";

/// Time limit of the test.
const TEST_TIME: Duration = Duration::from_secs(60);

/// Maximum length of the shown answer.
const SHOWN_CHARACTERS: usize = 200;

/// Asks all questions, in the order in which the answers are needed.
pub(super) fn run(
    with: &Terminal,
    editor: &ConfigEditor,
    settings: &Settings,
    registry: &Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    with.tell(&format!(
        "Settings are written to {}. Press Enter to keep the selected value, or the one in brackets.",
        editor.path().display()
    ));
    if let Some(choice) = choice {
        with.tell(&format!(
            "No model is configured yet; goose would use {}.",
            escape::line(&choice.to_string())
        ));
    }
    let provider = choose_provider(with, settings, registry, choice)?;
    if provider.name == local::PROVIDER {
        with.tell(&format!("  {}", local::GOOD_FOR));
    }
    requirements(with, editor, settings, provider)?;
    let address = address(with, settings, provider)?;
    let key = key(with, settings, provider)?;
    let typed = Typed { settings, address: address.as_ref(), key: key.as_ref() };
    model(with, editor, &typed, provider, choice)?;
    if let Some((name, address)) = address {
        editor.set(name, &json!(address))?;
    }
    if let Some((name, key)) = key {
        let place = keys::store(settings, name, &key, None)?;
        with.tell(&format!("  {name} is stored in {place}."));
    }
    if with.agrees("Send the model a test message?")? {
        with.tell(&test_model(editor.path())?);
    }
    mode(with, editor, settings)?;
    extensions(with, editor, settings)?;
    Ok(())
}

fn choose_provider<'s>(
    with: &Terminal,
    settings: &Settings,
    registry: &'s Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<&'s ProviderInfo> {
    let (present, _) = settings.configured_model()?;
    let present = present.or_else(|| choice.and_then(|it| it.model.provider()).map(str::to_owned));
    let known: Vec<&ProviderInfo> = registry.known().iter().collect();
    let entries: Vec<(&str, &str)> =
        known.iter().map(|info| (info.name.as_str(), info.display_name.as_str())).collect();
    with.tell("");
    // The configuration may have another spelling.
    let present = present.and_then(|name| Some(registry.info(&name)?.name.as_str()));
    let chosen = with.choose("Provider", &entries, present)?;
    known.get(chosen).copied().context("there is no such provider")
}

/// Asks for the settings that the provider needs besides a key.
fn requirements(
    with: &Terminal,
    editor: &ConfigEditor,
    settings: &Settings,
    provider: &ProviderInfo,
) -> anyhow::Result<()> {
    for setting in provider.settings.iter().filter(|setting| setting.default.is_none()) {
        let present: Option<String> = settings.get(&setting.name)?;
        let shown = present.map(|value| shown_value(&setting.name, &value));
        let example = setting.example.as_deref().map(|text| format!(" (such as {text})")).unwrap_or_default();
        let answer = loop {
            let answer = with.ask_or(&format!("{}{example}", setting.name), shown.as_deref())?;
            if !answer.is_empty() {
                break answer;
            }
            with.tell("  A value is required.");
        };
        if Some(&answer) == shown.as_ref() {
            continue;
        }
        if looks_secret(&setting.name) {
            keys::store(settings, &setting.name, &Secret::new(answer), None)?;
        } else {
            editor.set(&setting.name, &json!(answer))?;
        }
    }
    Ok(())
}

/// Asks for the address of a service that may be elsewhere. Returns the setting and a new address, which is stored once the
/// model is chosen. An address in the environment counts, so it is not asked for.
fn address<'p>(
    with: &Terminal,
    settings: &Settings,
    provider: &'p ProviderInfo,
) -> anyhow::Result<Option<(&'p str, String)>> {
    let Some(setting) = provider.settings.iter().find(|setting| setting.name.ends_with(ADDRESS)) else {
        return Ok(None);
    };
    let Some(usual) = setting.default.as_deref().filter(|_| settings.variable(&setting.name).is_none())
    else {
        return Ok(None);
    };
    let present: Option<String> = settings.get(&setting.name)?;
    let present = present.as_deref().unwrap_or(usual);
    loop {
        let answer = with.ask_or(&setting.name, Some(present))?;
        let is_address = Url::parse(&answer).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if answer == present {
            return Ok(None);
        }
        if is_address {
            return Ok(Some((setting.name.as_str(), answer)));
        }
        with.tell(&format!("  Type an address such as {usual}."));
    }
}

/// Settings with what was typed but is not stored yet.
struct Typed<'a> {
    settings: &'a Settings,
    address: Option<&'a (&'a str, String)>,
    key: Option<&'a (&'a str, Secret)>,
}

impl Lookup for Typed<'_> {
    fn value(&self, name: &str) -> LookedUp<String> {
        match self.address.filter(|(setting, _)| *setting == name) {
            Some((_, address)) => Ok(Some(address.clone())),
            None => self.settings.value(name),
        }
    }

    fn secret(&self, name: &str) -> LookedUp<ApiKey> {
        match self.key.filter(|(variable, _)| *variable == name) {
            Some((_, key)) => Ok(Some(ApiKey::new(key.expose()))),
            None => self.settings.secret(name),
        }
    }
}

/// Returns the models that the provider lists now, or those that are known.
fn models(with: &Terminal, provider: &ProviderInfo, typed: &Typed<'_>) -> anyhow::Result<Vec<String>> {
    let registry = typed.settings.registry();
    let listed = new_runtime()?.block_on(registry.list_models(&provider.name, typed));
    let listed = listed.filter(|names| !names.is_empty());
    with.tell(&match &listed {
        Some(_) => format!(
            "Choose one of the models that {} offers now, or type another name.",
            provider.display_name
        ),
        None => "Choose one of the known models, or type another name.".to_owned(),
    });
    Ok(listed.unwrap_or_else(|| provider.models.clone()))
}

/// Asks for the key. It is stored once the model is chosen, so that leaving the dialogue before keeps nothing.
fn key<'p>(
    with: &Terminal,
    settings: &Settings,
    provider: &'p ProviderInfo,
) -> anyhow::Result<Option<(&'p str, Secret)>> {
    let Some(name) = provider.key_variables.first() else { return Ok(None) };
    let secrets = settings.secrets();
    let mut known = None;
    for name in &provider.key_variables {
        match secrets.get(name) {
            Ok(found) => known = known.or(found.map(|_| name)),
            // A keyring that does not answer must not end the dialogue.
            Err(error @ ConfigError::Keyring(_)) => {
                with.tell(&format!("  {}", escape::line(&error.to_string())))
            }
            Err(error) => return Err(error.into()),
        }
    }
    with.tell("");
    if let Some(url) = &provider.docs_url {
        with.tell(&format!("How to get a key for {}: {}", provider.display_name, escape::line(url)));
    }
    let prompt = match (known, provider.needs_key) {
        (Some(known), _) => format!("{name} (hidden) [keep {known}]: "),
        (None, true) => format!("{name} (hidden): "),
        (None, false) => format!("{name} (hidden) [none]: "),
    };
    let typed = with.ask_hidden(&prompt)?;
    match typed.expose() {
        "" if known.is_none() && provider.needs_key => {
            with.tell(&format!(
                "  {} needs a key. Set {name} in the environment, or run this again.",
                provider.display_name
            ));
            Ok(None)
        }
        "" => Ok(None),
        _ => Ok(Some((name, typed))),
    }
}

fn model(
    with: &Terminal,
    editor: &ConfigEditor,
    typed: &Typed<'_>,
    provider: &ProviderInfo,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    let (before, present) = typed.settings.configured_model()?;
    let found = choice.filter(|it| it.model.provider() == Some(provider.name.as_str()));
    let present = present
        .filter(|_| before.as_ref() == Some(&provider.name))
        .or_else(|| found.map(|it| it.model.model().to_owned()))
        .or(provider.default_model.clone());
    with.tell("");
    let mut models = models(with, provider, typed)?;
    if let Some(present) = present.as_ref().filter(|name| !models.contains(name)) {
        models.insert(0, present.clone());
    }
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let answer = with.choose_or_type("Model", &names, present.as_deref())?;
    editor.set_model(&provider.name, Some(&answer))?;
    Ok(())
}

fn mode(with: &Terminal, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let present: Option<String> = settings.get("GOOSE_MODE")?;
    with.tell("");
    with.tell("Choose what goose may do without asking:");
    let default = present.as_deref().map_or(Ok("auto"), find_mode).unwrap_or("auto");
    let chosen = with.choose("Mode", &MODES, Some(default))?;
    let (chosen, _) = MODES.get(chosen).context("there is no such mode")?;
    if present.is_some() || *chosen != default {
        editor.set("GOOSE_MODE", &json!(chosen))?;
    }
    Ok(())
}

/// An extension that can be enabled or disabled.
struct Toggle {
    key: String,
    switch: Switch,
    about: String,
}

impl Toggle {
    fn title(&self) -> String {
        format!("{} ({})", self.key, if self.switch == Switch::On { "on" } else { "off" })
    }
}

fn extensions(with: &Terminal, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let mut toggles = toggles(settings);
    with.tell("");
    with.tell("Choose an extension to switch it on or off.");
    let mut last = DONE.to_owned();
    loop {
        let titles: Vec<String> = toggles.iter().map(Toggle::title).collect();
        let done = (DONE, "go on with these extensions");
        let others =
            titles.iter().zip(&toggles).map(|(title, toggle)| (title.as_str(), toggle.about.as_str()));
        let entries: Vec<(&str, &str)> = [done].into_iter().chain(others).collect();
        let chosen = with.choose("Extensions", &entries, Some(&last))?;
        let Some(toggle) = chosen.checked_sub(1).and_then(|at| toggles.get_mut(at)) else { return Ok(()) };
        let other = if toggle.switch == Switch::On { Switch::Off } else { Switch::On };
        let missing = builtins::find(&toggle.key).map(|builtin| ExtensionConfig::builtin(builtin.name));
        editor.switch_extension(&toggle.key, other, missing.as_ref())?;
        toggle.switch = other;
        last = toggle.title();
    }
}

/// Returns the configured extensions and the other built-ins.
fn toggles(settings: &Settings) -> Vec<Toggle> {
    let configured = settings.extensions().iter().map(|entry| Toggle {
        key: entry.key.clone(),
        switch: if entry.enabled { Switch::On } else { Switch::Off },
        about: entry.config.as_ref().map(|config| config.description().to_owned()).unwrap_or_default(),
    });
    let others =
        SERVICES.iter().filter(|builtin| !settings.extensions().iter().any(|it| it.key == builtin.name));
    let others = others.map(|builtin| Toggle {
        key: builtin.name.to_owned(),
        switch: if settings.is_default(builtin.name) { Switch::On } else { Switch::Off },
        about: builtin.summary.to_owned(),
    });
    configured.chain(others).collect()
}

/// Sends a short message to the configured model and describes the outcome in a line.
fn test_model(file: &Path) -> anyhow::Result<String> {
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
