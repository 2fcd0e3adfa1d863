//! Which extensions a command is about: the configured ones, those of the flags, and the built-ins.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use goose::{
    builtins::{self, Builtin},
    config::{ConfiguredExtension, ExtensionConfig, ExtensionKind, Settings},
};
use serde::Serialize;

use crate::args::ExtensionArgs;

/// Where an extension comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    /// It is configured, in the user's file.
    Config,
    /// The project's file says so, which is trusted.
    Project,
    /// A flag says so.
    Flag,
    /// It comes with goose, and is not configured.
    Builtin,
}

/// An extension that could be meant.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// What it is called: its key in the configuration, or the name that a flag gave it.
    pub(crate) key: String,
    pub(crate) source: Source,
    pub(crate) enabled: bool,
    /// What is configured, where it can be read.
    pub(crate) config: Option<ExtensionConfig>,
    /// Why it cannot be used, and where.
    pub(crate) error: Option<String>,
    /// Where its entry is.
    place: Option<String>,
}

impl Candidate {
    fn configured(entry: &ConfiguredExtension, project: Option<&Path>) -> Self {
        let is_projects = project == Some(entry.place.path.as_path());
        Self {
            key: entry.key.clone(),
            source: if is_projects { Source::Project } else { Source::Config },
            enabled: entry.enabled,
            config: entry.config.as_ref().ok().cloned().map(described),
            error: entry.checked().err().map(|error| error.to_string()),
            place: Some(entry.place.to_string()),
        }
    }

    fn flag(config: ExtensionConfig) -> anyhow::Result<Self> {
        config.check()?;
        Ok(Self {
            key: config.key(),
            source: Source::Flag,
            enabled: true,
            config: Some(config),
            error: None,
            place: None,
        })
    }

    /// A built-in that is not configured. The default ones are enabled.
    fn builtin(builtin: &Builtin, settings: &Settings) -> Self {
        let config = ExtensionConfig::builtin(builtin.name).with_description(builtin.summary);
        Self {
            key: builtin.name.to_owned(),
            source: Source::Builtin,
            enabled: settings.is_default(builtin.name),
            config: Some(config),
            error: None,
            place: None,
        }
    }

    /// The configuration, where it can be used.
    pub(crate) fn usable(&self) -> anyhow::Result<ExtensionConfig> {
        match (&self.config, &self.error) {
            (Some(config), None) => Ok(config.clone()),
            (_, error) => Err(anyhow!(error.clone().unwrap_or_default())),
        }
    }

    /// Returns true if there is no service to start: the entry only switches a feature.
    fn is_switch(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.kind == ExtensionKind::Platform)
    }

    fn is_called(&self, name: &str) -> bool {
        let is = |config: &ExtensionConfig| config.name() == name || config.key() == name;
        self.key == name || self.config.as_ref().is_some_and(is)
    }
}

/// All extensions that could be meant.
pub(crate) struct Selection {
    candidates: Vec<Candidate>,
    file: Option<PathBuf>,
}

impl Selection {
    /// What is configured, as a conversation here would have it, and the flags. Nothing is started.
    pub(crate) fn load(settings: &Settings, which: &ExtensionArgs) -> anyhow::Result<Self> {
        let mut selection = Self { candidates: Vec::new(), file: None };
        if !which.no_profile {
            let project = settings.project_file().map(|file| file.path());
            let configured = settings.extensions().iter().map(|entry| Candidate::configured(entry, project));
            selection.candidates = configured.collect();
            selection.file = Some(settings.user_file().path().to_owned());
        }
        for config in flags(which)? {
            selection.put(Candidate::flag(config)?);
        }
        if !which.no_profile {
            let missing = builtins::available().filter(|builtin| selection.find(builtin.name).is_none());
            let missing: Vec<Candidate> =
                missing.map(|builtin| Candidate::builtin(&builtin, settings)).collect();
            selection.candidates.extend(missing);
        }
        Ok(selection)
    }

    /// A flag takes the place of what is configured under the same name.
    fn put(&mut self, candidate: Candidate) {
        self.candidates.retain(|there| !there.is_called(&candidate.key));
        self.candidates.push(candidate);
    }

    /// All of them: configured ones in the order of the file, flags, other built-ins.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The configuration that was read.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    /// The named ones, or all that are enabled.
    pub(crate) fn named_or_enabled(&self, names: &[String]) -> anyhow::Result<Vec<Candidate>> {
        if names.is_empty() {
            return self.enabled();
        }
        let mut chosen: Vec<Candidate> = Vec::new();
        for name in names {
            let candidate = self.known(name)?;
            if !chosen.iter().any(|there| there.key == candidate.key) {
                chosen.push(candidate.clone());
            }
        }
        Ok(chosen)
    }

    fn enabled(&self) -> anyhow::Result<Vec<Candidate>> {
        let enabled: Vec<Candidate> =
            self.candidates.iter().filter(|it| it.enabled && !it.is_switch()).cloned().collect();
        if enabled.is_empty() {
            bail!(
                "No extension is enabled. Name one (`goose extension list` shows them all), or add one with \
                 --with-builtin or --with-extension."
            );
        }
        Ok(enabled)
    }

    /// The one whose tools may be called under a name: enabled, or a built-in that nobody has switched off.
    pub(crate) fn callable(&self, name: &str) -> anyhow::Result<ExtensionConfig> {
        let candidate = self.known(name)?;
        if matches!(candidate.source, Source::Config | Source::Project) && !candidate.enabled {
            return Err(switched_off(candidate));
        }
        candidate.usable()
    }

    fn known(&self, name: &str) -> anyhow::Result<&Candidate> {
        self.find(name).ok_or_else(|| {
            let names: Vec<&str> = self.candidates.iter().map(|it| it.key.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            anyhow!(
                "There is no extension `{name}`. There are: {there}. Add one to config.yaml, or for this once with \
                 --with-extension."
            )
        })
    }

    fn find(&self, name: &str) -> Option<&Candidate> {
        let by_key = self.candidates.iter().find(|candidate| candidate.key == name);
        by_key.or_else(|| self.candidates.iter().find(|candidate| candidate.is_called(name)))
    }
}

/// A built-in says itself what it is for, where the configuration does not.
fn described(config: ExtensionConfig) -> ExtensionConfig {
    let is_silent = config.kind == ExtensionKind::Builtin && config.description().is_empty();
    match builtins::find(&config.key()).filter(|_| is_silent) {
        Some(builtin) => config.with_description(builtin.summary),
        None => config,
    }
}

fn switched_off(candidate: &Candidate) -> anyhow::Error {
    let Candidate { key, place, .. } = candidate;
    let place = place.as_deref().unwrap_or("config.yaml");
    let once = match candidate.config.as_ref().map(|config| &config.kind) {
        Some(ExtensionKind::Builtin) => format!("--with-builtin {key}"),
        Some(ExtensionKind::StreamableHttp { .. }) => "--with-streamable-http-extension URL".to_owned(),
        _ => "--with-extension 'CMD'".to_owned(),
    };
    anyhow!(
        "The extension `{key}` is switched off ({place}). Set 'enabled: true' there, or use it this once with {once}."
    )
}

/// The extensions of the flags, each with a name of its own.
pub(crate) fn flags(which: &ExtensionArgs) -> anyhow::Result<Vec<ExtensionConfig>> {
    let mut configs = Vec::new();
    for line in &which.commands {
        configs.push(ExtensionConfig::from_command_line(line)?);
    }
    configs.extend(which.urls.iter().map(|url| ExtensionConfig::streamable_http(host_of(url), url.as_str())));
    configs.extend(which.builtins.iter().map(ExtensionConfig::builtin));
    let mut named: Vec<ExtensionConfig> = Vec::new();
    for config in configs {
        if !named.contains(&config) {
            named.push(with_free_name(config, &named));
        }
    }
    Ok(named)
}

/// The second `notes` is `notes_2`.
fn with_free_name(mut config: ExtensionConfig, taken: &[ExtensionConfig]) -> ExtensionConfig {
    let base = config.name.clone();
    let mut number = 1;
    while taken.iter().any(|there| there.key() == config.key()) {
        number += 1;
        config.name = format!("{base}_{number}");
    }
    config
}

/// What a server is called after: its host, and the port where one is given. What is no address stays as it is, for
/// the error about it.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.is_empty() { url } else { host }
}
