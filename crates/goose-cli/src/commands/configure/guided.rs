//! `goose configure` step by step. Enter keeps the current value; each answer is written at once, the provider together
//! with its key and model.

use std::time::Duration;

use goose::config::{ConfigEditor, ConfigError, Secret, Secrets as _, Settings, looks_secret, shown_value};
use goose_providers::{ApiKey, Choice, LoginMethod, LookedUp, Lookup, ProviderInfo, Registry};
use serde_json::json;
use url::Url;

use super::{
    asking::{agrees, ask_hidden, ask_or, choose},
    choices::{MODES, find_mode},
    keys, login,
    toggles::extensions,
    trial::test_model,
};
use crate::{
    escape, local,
    runtime::new_runtime,
    stderr,
    terminal::menu::{Menu, MenuChoice, MenuEntry},
};

/// Time limit of a login.
const LOGIN_TIME: Duration = Duration::from_secs(600);

/// Ending of the setting with the address of a service.
const ADDRESS: &str = "_HOST";

/// Asks all questions, in the order in which the answers are needed.
pub(super) fn run(
    editor: &ConfigEditor,
    settings: &Settings,
    registry: &Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    stderr::line(format_args!(
        "Settings are written to {}. Enter keeps what is selected or in brackets; type to filter a list.",
        editor.path().display()
    ));
    if let Some(choice) = choice {
        stderr::line(format_args!(
            "No model is configured yet; goose would use {}.",
            escape::line(&choice.to_string())
        ));
    }
    let provider = choose_provider(settings, registry, choice)?;
    if provider.name == local::PROVIDER {
        stderr::line(format_args!("  {}", local::GOOD_FOR));
    }
    requirements(editor, settings, provider)?;
    let address = address(settings, provider)?;
    let key = key(settings, provider, address.as_ref())?;
    let typed = Typed { settings, address: address.as_ref(), key: key.as_ref() };
    model(editor, &typed, provider, choice)?;
    if let Some((name, address)) = address {
        editor.set(name, &json!(address))?;
    }
    if let Some((name, key)) = key {
        let place = keys::store(settings, name, &key, None)?;
        stderr::line(format_args!("  {name} is stored in {place}."));
    }
    if agrees("Send the model a test message?")? {
        stderr::line(test_model(editor.path())?);
    }
    mode(editor, settings)?;
    extensions(editor, settings)?;
    Ok(())
}

fn choose_provider<'s>(
    settings: &Settings,
    registry: &'s Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<&'s ProviderInfo> {
    let (present, _) = settings.configured_model()?;
    let present = present.or_else(|| choice.and_then(|it| it.model.provider()).map(str::to_owned));
    let present = present.and_then(|name| registry.info(&name));
    let known = registry.known();
    let names: Vec<&str> = known.iter().map(|info| info.name.as_str()).collect();
    let entry = |info: &ProviderInfo| MenuEntry::new(&format!("{:20} {}", info.name, info.display_name), "");
    let at = known.iter().position(|info| present.is_some_and(|present| present.name == info.name));
    let menu = Menu::new("Provider", known.iter().map(entry).collect()).at(at.unwrap_or(0));
    stderr::line("");
    loop {
        if let MenuChoice::Entry(entry) = choose("Provider", &names, menu.clone())?
            && let Some(info) = known.get(entry)
        {
            return Ok(info);
        }
    }
}

/// Asks for the settings that the provider needs besides a key.
fn requirements(editor: &ConfigEditor, settings: &Settings, provider: &ProviderInfo) -> anyhow::Result<()> {
    for setting in provider.settings.iter().filter(|setting| setting.default.is_none()) {
        let present: Option<String> = settings.get(&setting.name)?;
        let shown = present.map(|value| shown_value(&setting.name, &value));
        let example = setting.example.as_deref().map(|text| format!(" (such as {text})")).unwrap_or_default();
        let answer = loop {
            let answer = ask_or(&format!("{}{example}", setting.name), shown.as_deref())?;
            if !answer.is_empty() {
                break answer;
            }
            stderr::line("  A value is required.");
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

/// Asks for the address of a service that may be elsewhere. Returns the setting and a new address, which is stored once
/// the model is chosen. An address in the environment counts, so it is not asked for.
fn address<'p>(settings: &Settings, provider: &'p ProviderInfo) -> anyhow::Result<Option<(&'p str, String)>> {
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
        let answer = ask_or(&setting.name, Some(present))?;
        let is_address = Url::parse(&answer).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if answer == present {
            return Ok(None);
        }
        if is_address {
            return Ok(Some((setting.name.as_str(), answer)));
        }
        stderr::line(format_args!("  Type an address such as {usual}."));
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
fn models(provider: &ProviderInfo, typed: &Typed<'_>) -> anyhow::Result<Vec<String>> {
    let registry = typed.settings.registry();
    let listed = new_runtime()?.block_on(registry.list_models(&provider.name, typed));
    stderr::line(match &listed {
        Some(_) => format!("Choose one of the models that {} offers now.", provider.display_name),
        None => "Choose one of its models, or type the name of another one.".to_owned(),
    });
    Ok(listed.unwrap_or_else(|| provider.models.clone()))
}

/// Asks for the key. It is stored once the model is chosen, so that leaving the dialogue before keeps nothing.
fn key<'p>(
    settings: &Settings,
    provider: &'p ProviderInfo,
    address: Option<&(&str, String)>,
) -> anyhow::Result<Option<(&'p str, Secret)>> {
    let Some(name) = provider.key_variables.first() else { return Ok(None) };
    let secrets = settings.secrets();
    let mut known = None;
    for name in &provider.key_variables {
        match secrets.get(name) {
            Ok(found) => known = known.or(found.map(|_| name)),
            // A keyring that does not answer must not end the dialogue.
            Err(error @ ConfigError::Keyring(_)) => {
                stderr::line(format_args!("  {}", escape::line(&error.to_string())))
            }
            Err(error) => return Err(error.into()),
        }
    }
    stderr::line("");
    if let Some(method) = provider.login {
        let lookup = Typed { settings, address, key: None };
        match login_or_key(provider, method, known, &lookup)? {
            KeySource::Login(key) => return Ok(Some((name, key))),
            KeySource::Known => return Ok(None),
            KeySource::Typed => {}
        }
    }
    if let Some(url) = &provider.docs_url {
        stderr::line(format_args!("How to get a key for {}: {}", provider.display_name, escape::line(url)));
    }
    let prompt = match (known, provider.needs_key) {
        (Some(known), _) => format!("{name} (hidden) [keep {known}]: "),
        (None, true) => format!("{name} (hidden): "),
        (None, false) => format!("{name} (hidden) [none]: "),
    };
    let typed = ask_hidden(&prompt)?;
    match typed.expose() {
        "" if known.is_none() && provider.needs_key => {
            stderr::line(format_args!(
                "  {} needs a key. Set {name} in the environment, or run this again.",
                provider.display_name
            ));
            Ok(None)
        }
        "" => Ok(None),
        _ => Ok(Some((name, typed))),
    }
}

/// Source of a key.
enum KeySource {
    Login(Secret),
    /// The key that is stored already.
    Known,
    Typed,
}

/// Asks for the source of the key of a provider with a login. A login that fails leads to the question for a key.
fn login_or_key(
    provider: &ProviderInfo,
    method: LoginMethod,
    known: Option<&String>,
    lookup: &dyn Lookup,
) -> anyhow::Result<KeySource> {
    let keep = known.map(|name| format!("keep {name}"));
    let log_in = match method {
        LoginMethod::Browser => "log in with the browser",
        LoginMethod::Device => "log in with a code, on any machine",
    };
    let names: Vec<&str> = keep.as_deref().into_iter().chain([log_in, "enter a key"]).collect();
    let menu = Menu::new("Key", names.iter().map(|name| MenuEntry::new(name, "")).collect());
    let MenuChoice::Entry(entry) = choose("Key", &names, menu)? else { return Ok(KeySource::Typed) };
    if keep.as_deref() == names.get(entry).copied() {
        return Ok(KeySource::Known);
    }
    if names.get(entry) != Some(&log_in) {
        return Ok(KeySource::Typed);
    }
    match login::log_in(method, lookup, LOGIN_TIME) {
        Ok(key) => {
            stderr::line(format_args!("  {} gave goose a key.", provider.display_name));
            Ok(KeySource::Login(key))
        }
        Err(error) => {
            stderr::line(format_args!("  {error}"));
            Ok(KeySource::Typed)
        }
    }
}

fn model(
    editor: &ConfigEditor,
    typed: &Typed<'_>,
    provider: &ProviderInfo,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    let (before, present) = typed.settings.configured_model()?;
    let found = choice.filter(|it| it.model.provider() == Some(provider.name.as_str()));
    let present = present
        .filter(|_| before.as_ref() == Some(&provider.name))
        .or_else(|| found.map(|it| it.model.model().to_owned()));
    stderr::line("");
    let mut models = models(provider, typed)?;
    if let Some(present) = present.as_ref().filter(|present| !models.contains(present)) {
        models.insert(0, present.clone());
    }
    let selected = present.or(provider.default_model.clone());
    let at = models.iter().position(|name| Some(name) == selected.as_ref());
    let names: Vec<&str> = models.iter().map(String::as_str).collect();
    let entries = names.iter().map(|name| MenuEntry::new(name, "")).collect();
    let menu = Menu::new("Model", entries).at(at.unwrap_or(0)).or_typed();
    let answer = match choose("Model", &names, menu)? {
        MenuChoice::Entry(entry) => models.get(entry).cloned().unwrap_or_default(),
        MenuChoice::Typed(typed) => typed,
    };
    editor.set_model(&provider.name, Some(&answer))?;
    Ok(())
}

fn mode(editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let present: Option<String> = settings.get("GOOSE_MODE")?;
    stderr::line("");
    stderr::line("Choose what goose may do without asking.");
    let default = present.as_deref().unwrap_or("auto");
    let names = MODES.map(|(name, _)| name);
    let entries = MODES.map(|(name, meaning)| MenuEntry::new(&format!("{name:14} {meaning}"), ""));
    let at = find_mode(default).ok().and_then(|mode| names.iter().position(|name| *name == mode));
    let menu = Menu::new("Mode", entries.to_vec()).at(at.unwrap_or(0));
    let MenuChoice::Entry(entry) = choose("Mode", &names, menu)? else { return Ok(()) };
    let Some(chosen) = names.get(entry) else { return Ok(()) };
    if present.is_some() || *chosen != default {
        editor.set("GOOSE_MODE", &json!(chosen))?;
    }
    Ok(())
}
