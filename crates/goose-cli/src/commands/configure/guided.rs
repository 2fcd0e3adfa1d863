//! `goose configure` step by step. Enter keeps what is there; each answer is written as soon as it is given,
//! the service together with its model.

use goose::config::{ConfigEditor, ConfigError, Secrets as _, Settings, Switch, looks_secret};
use goose_providers::{Choice, ProviderInfo, Registry};
use serde_json::json;

use super::{
    asking::Asking,
    keys,
    modes::{self, MODES},
    services, trial,
};
use crate::{local, visible};

/// How many models are shown; services have many more.
const SHOWN_MODELS: usize = 12;

/// The widest line of names.
const WIDTH: usize = 76;

/// Asks for everything, in the order in which it is needed.
pub(super) fn run(
    with: &mut dyn Asking,
    editor: &ConfigEditor,
    settings: &Settings,
    registry: &Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    with.tell(&format!("This writes {}. Enter keeps what is in brackets.", editor.path().display()));
    if let Some(choice) = choice {
        with.tell(&format!(
            "No model is chosen yet; goose would use {}.",
            visible::line(&choice.to_string())
        ));
    }
    let provider = service(with, settings, registry, choice)?;
    if provider.name == local::PROVIDER {
        with.tell(&format!("  {}", local::GOOD_FOR));
    }
    requirements(with, editor, settings, provider)?;
    key(with, settings, provider)?;
    model(with, editor, settings, provider, choice)?;
    if with.agrees("Ask the model something, to see whether it works?")? {
        with.tell(&trial::run(editor.path())?);
    }
    mode(with, editor, settings)?;
    extensions(with, editor, settings)?;
    Ok(())
}

fn service<'s>(
    with: &mut dyn Asking,
    settings: &Settings,
    registry: &'s Registry,
    choice: Option<&Choice>,
) -> anyhow::Result<&'s ProviderInfo> {
    let (present, _) = settings.configured_model()?;
    let present = present.or_else(|| choice.and_then(|it| it.model.provider()).map(str::to_owned));
    let names: Vec<&str> = registry.known().iter().map(|info| info.name.as_str()).collect();
    with.tell("");
    with.tell("Which service has your model?");
    for line in filled(&names) {
        with.tell(&format!("  {line}"));
    }
    loop {
        let answer = with.ask_or("Service", present.as_deref())?;
        match services::find(registry, &answer) {
            Ok(info) => return Ok(info),
            Err(error) => with.tell(&format!("  {}", visible::line(&error.to_string()))),
        }
    }
}

/// What the service needs besides a key.
fn requirements(
    with: &mut dyn Asking,
    editor: &ConfigEditor,
    settings: &Settings,
    provider: &ProviderInfo,
) -> anyhow::Result<()> {
    for setting in provider.settings.iter().filter(|setting| setting.default.is_none()) {
        let present: Option<String> = settings.get(&setting.name)?;
        let example = setting.example.as_deref().map(|text| format!(" (such as {text})")).unwrap_or_default();
        let answer = loop {
            let answer = with.ask_or(&format!("{}{example}", setting.name), present.as_deref())?;
            if !answer.is_empty() {
                break answer;
            }
            with.tell("  It is needed.");
        };
        if looks_secret(&setting.name) {
            keys::keep(settings, &setting.name, &goose::config::Secret::new(answer), None)?;
        } else if Some(&answer) != present.as_ref() {
            editor.set(&setting.name, &json!(answer))?;
        }
    }
    Ok(())
}

fn key(with: &mut dyn Asking, settings: &Settings, provider: &ProviderInfo) -> anyhow::Result<()> {
    let Some(name) = provider.key_variables.first() else { return Ok(()) };
    let secrets = settings.secrets();
    let mut known = None;
    for name in &provider.key_variables {
        match secrets.get(name) {
            Ok(found) => known = known.or(found.map(|_| name)),
            // A keyring that does not answer is no reason not to go on.
            Err(error @ ConfigError::Keyring(_)) => {
                with.tell(&format!("  {}", visible::line(&error.to_string())))
            }
            Err(error) => return Err(error.into()),
        }
    }
    with.tell("");
    if let Some(url) = &provider.docs_url {
        with.tell(&format!("About keys for {}: {}", provider.display_name, visible::line(url)));
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
                "  Without a key nothing can be asked. Set {name} in the environment, or come back."
            ));
        }
        "" => {}
        _ => {
            let place = keys::keep(settings, name, &typed, None)?;
            with.tell(&format!("  It is kept in {place}."));
        }
    }
    Ok(())
}

fn model(
    with: &mut dyn Asking,
    editor: &ConfigEditor,
    settings: &Settings,
    provider: &ProviderInfo,
    choice: Option<&Choice>,
) -> anyhow::Result<()> {
    let (before, present) = settings.configured_model()?;
    let found = choice.filter(|it| it.model.provider() == Some(provider.name.as_str()));
    let present = present
        .filter(|_| before.as_ref() == Some(&provider.name))
        .or_else(|| found.map(|it| it.model.model().to_owned()))
        .or(provider.default_model.clone());
    with.tell("");
    if !provider.models.is_empty() {
        let names: Vec<&str> = provider.models.iter().take(SHOWN_MODELS).map(String::as_str).collect();
        with.tell("Some of its models; any other name works as well:");
        for line in filled(&names) {
            with.tell(&format!("  {}", visible::line(&line)));
        }
    }
    let answer = loop {
        let answer = with.ask_or("Model", present.as_deref())?;
        if !answer.is_empty() {
            break answer;
        }
        with.tell("  Give the name of a model.");
    };
    editor.set_model(&provider.name, Some(&answer))?;
    Ok(())
}

fn mode(with: &mut dyn Asking, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let present: Option<String> = settings.get("GOOSE_MODE")?;
    with.tell("");
    with.tell("How much may goose do without asking?");
    for (name, meaning) in MODES {
        with.tell(&format!("  {name:14} {meaning}"));
    }
    let default = present.as_deref().unwrap_or("auto");
    let chosen = loop {
        match modes::known(&with.ask_or("Mode", Some(default))?) {
            Ok(mode) => break mode,
            Err(error) => with.tell(&format!("  {error}")),
        }
    };
    if present.is_some() || chosen != default {
        editor.set("GOOSE_MODE", &json!(chosen))?;
    }
    Ok(())
}

/// An extension that can be switched.
struct Toggle {
    key: String,
    switch: Switch,
    about: String,
}

fn extensions(with: &mut dyn Asking, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let mut toggles = toggles(settings);
    with.tell("");
    with.tell("Extensions: name one to switch it on or off, Enter goes on.");
    loop {
        for (number, toggle) in toggles.iter().enumerate() {
            let mark = if toggle.switch == Switch::On { "on " } else { "off" };
            with.tell(&format!(
                "  {:2} {mark} {:16} {}",
                number + 1,
                visible::line(&toggle.key),
                visible::line(&toggle.about)
            ));
        }
        let answer = with.ask("Switch: ")?;
        if answer.is_empty() {
            return Ok(());
        }
        let numbered = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen =
            toggles.iter_mut().enumerate().find(|(at, it)| Some(*at) == numbered || it.key == answer);
        match chosen {
            Some((_, toggle)) => {
                let other = if toggle.switch == Switch::On { Switch::Off } else { Switch::On };
                editor.switch_extension(&toggle.key, other)?;
                toggle.switch = other;
            }
            None => with.tell("  There is no such extension."),
        }
    }
}

/// The configured ones, and the built-ins that are not.
fn toggles(settings: &Settings) -> Vec<Toggle> {
    let configured = settings.extensions().iter().map(|entry| Toggle {
        key: entry.key.clone(),
        switch: if entry.enabled { Switch::On } else { Switch::Off },
        about: entry.config.as_ref().map(|config| config.description().to_owned()).unwrap_or_default(),
    });
    let others = goose::builtins::available()
        .filter(|builtin| !settings.extensions().iter().any(|it| it.key == builtin.name));
    let others = others.map(|builtin| Toggle {
        key: builtin.name.to_owned(),
        switch: if settings.is_default(builtin.name) { Switch::On } else { Switch::Off },
        about: builtin.summary.to_owned(),
    });
    configured.chain(others).collect()
}

/// Names on lines that are full.
fn filled(names: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() + 2 <= WIDTH => {
                line.push_str(", ");
                line.push_str(name);
            }
            _ => lines.push((*name).to_owned()),
        }
    }
    lines
}
