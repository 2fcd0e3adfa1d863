//! Extensions as switches.

use goose::config::{ConfigEditor, ExtensionConfig, Settings, Switch};

use super::asking::choose;
use crate::{
    builtins::{self, SERVICES},
    stderr,
    terminal::menu::{Menu, MenuChoice, MenuEntry},
};

/// Entry that ends the question.
const CONTINUE: &str = "continue";

/// An extension that can be enabled or disabled.
struct Toggle {
    key: String,
    switch: Switch,
    about: String,
}

/// Asks which extensions to switch, until the user continues.
pub(super) fn extensions(editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<()> {
    let (mut toggles, mut at) = (toggles(settings), 0);
    stderr::line("");
    stderr::line("Choose extensions to switch on or off.");
    loop {
        let entries = toggles.iter().map(Toggle::entry);
        let entries = std::iter::once(MenuEntry::new(CONTINUE, "")).chain(entries).collect();
        let names: Vec<String> =
            std::iter::once(CONTINUE.to_owned()).chain(toggles.iter().map(Toggle::switched)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen = choose("Extensions", &names, Menu::new("Extension", entries).at(at))?;
        let MenuChoice::Entry(entry) = chosen else { return Ok(()) };
        let Some(toggle) = entry.checked_sub(1).and_then(|entry| toggles.get_mut(entry)) else {
            return Ok(());
        };
        let missing = builtins::find(&toggle.key).map(|builtin| ExtensionConfig::builtin(builtin.name));
        editor.switch_extension(&toggle.key, toggle.other(), missing.as_ref())?;
        (toggle.switch, at) = (toggle.other(), entry);
    }
}

impl Toggle {
    fn other(&self) -> Switch {
        if self.switch == Switch::On { Switch::Off } else { Switch::On }
    }

    fn entry(&self) -> MenuEntry {
        MenuEntry::new(&format!("{:16} {} {}", self.key, word(self.switch), self.about), "")
    }

    /// Returns the line after the extension was chosen.
    fn switched(&self) -> String {
        format!("{} is {}", self.key, word(self.other()).trim_end())
    }
}

fn word(switch: Switch) -> &'static str {
    if switch == Switch::On { "on " } else { "off" }
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
