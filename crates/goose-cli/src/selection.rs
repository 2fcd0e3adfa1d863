//! The extensions that a command works on: configured ones, those given by flags, and built-ins.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{anyhow, bail};
use goose::{
    builtins::{PlatformExtension, platform},
    config::{ConfiguredExtension, ExtensionConfig, ExtensionKind, Settings},
};
use goose_extension::Builtin;
use serde::Serialize;

use crate::{
    args::ExtensionArgs,
    builtins::{self, SERVICES},
};

/// Origin of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    /// The user's configuration file.
    Config,
    /// The project's trusted file.
    Project,
    /// A flag.
    Flag,
    /// A built-in that is not configured.
    Builtin,
}

/// An extension that can be selected.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Key in the configuration, or name given by a flag.
    pub(crate) key: String,
    pub(crate) source: Source,
    pub(crate) enabled: bool,
    /// Configuration, if it is valid.
    pub(crate) config: Option<ExtensionConfig>,
    /// Error in the configuration, with its place.
    pub(crate) error: Option<String>,
    /// Place of its entry.
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
        Ok(Self { source: Source::Flag, ..Self::unconfigured(config, true) })
    }

    /// Creates an entry for a built-in service that is not configured. Default ones are enabled.
    fn builtin(builtin: &Builtin, settings: &Settings) -> Self {
        let config = ExtensionConfig::builtin(builtin.name).with_description(builtin.summary);
        Self::unconfigured(config, settings.is_default(builtin.name))
    }

    /// Creates an entry for a platform extension that is not configured. Those that come with agents are enabled.
    fn platform(extension: &PlatformExtension) -> Self {
        let config = ExtensionConfig::platform(extension.name).with_description(extension.summary);
        Self::unconfigured(config, extension.comes_with_agents())
    }

    fn unconfigured(config: ExtensionConfig, enabled: bool) -> Self {
        let key = config.key();
        Self { key, source: Source::Builtin, enabled, config: Some(config), error: None, place: None }
    }

    /// Returns the configuration if it is valid.
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

/// All extensions that can be selected.
pub(crate) struct Selection {
    candidates: Vec<Candidate>,
    file: Option<PathBuf>,
}

impl Selection {
    /// Loads the extensions that a session in this folder would have, and those of the flags. Starts nothing.
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
            let services = SERVICES.iter().map(|builtin| Candidate::builtin(builtin, settings));
            let all: Vec<Candidate> = services.chain(platform().iter().map(Candidate::platform)).collect();
            let missing = all.into_iter().filter(|candidate| selection.find(&candidate.key).is_none());
            let missing: Vec<Candidate> = missing.collect();
            selection.candidates.extend(missing);
        }
        Ok(selection)
    }

    /// Adds an extension; a flag replaces a configured one of the same name.
    fn put(&mut self, candidate: Candidate) {
        self.candidates.retain(|there| !there.is_called(&candidate.key));
        self.candidates.push(candidate);
    }

    /// Returns all: configured ones in file order, flags, other built-ins.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Returns the configuration file that was read.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    /// Returns the named extensions, or all enabled ones.
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
                "No extensions are enabled. Name one (`goose extension list` shows them all), or add one with \
                 --with-builtin or --with-extension."
            );
        }
        Ok(enabled)
    }

    /// Returns the extension whose tools can be called: an enabled one, or a built-in that is not disabled.
    pub(crate) fn callable(&self, name: &str) -> anyhow::Result<ExtensionConfig> {
        let candidate = self.known(name)?;
        if candidate.is_switch() {
            bail!(
                "`{name}` works in a session only: it comes with the modes of agents. `goose agents list` shows them."
            );
        }
        if matches!(candidate.source, Source::Config | Source::Project) && !candidate.enabled {
            return Err(disabled(candidate));
        }
        candidate.usable()
    }

    fn known(&self, name: &str) -> anyhow::Result<&Candidate> {
        self.find(name).ok_or_else(|| {
            let services = self.candidates.iter().filter(|it| !it.is_switch());
            let names: Vec<&str> = services.map(|it| it.key.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            anyhow!(
                "There is no extension `{name}`. Available: {there}. Add one to config.yaml, or just for this command with \
                 --with-extension."
            )
        })
    }

    fn find(&self, name: &str) -> Option<&Candidate> {
        let by_key = self.candidates.iter().find(|candidate| candidate.key == name);
        by_key.or_else(|| self.candidates.iter().find(|candidate| candidate.is_called(name)))
    }
}

/// Adds the summary of a built-in whose entry has no description.
fn described(config: ExtensionConfig) -> ExtensionConfig {
    let is_silent = matches!(config.kind, ExtensionKind::Builtin { .. }) && config.description().is_empty();
    match builtins::find(&config.key()).filter(|_| is_silent) {
        Some(builtin) => config.with_description(builtin.summary),
        None => config,
    }
}

fn disabled(candidate: &Candidate) -> anyhow::Error {
    let Candidate { key, place, .. } = candidate;
    let place = place.as_deref().unwrap_or("config.yaml");
    let once = match candidate.config.as_ref().map(|config| &config.kind) {
        Some(ExtensionKind::Builtin { .. }) => format!("--with-builtin {key}"),
        Some(ExtensionKind::StreamableHttp { .. }) => "--with-streamable-http-extension URL".to_owned(),
        _ => "--with-extension 'CMD'".to_owned(),
    };
    anyhow!(
        "The extension `{key}` is disabled ({place}). Set 'enabled: true' there, or use it just for this command with {once}."
    )
}

/// Returns the extensions given by flags, each with a unique name.
pub(crate) fn flags(which: &ExtensionArgs) -> anyhow::Result<Vec<ExtensionConfig>> {
    let mut configs = Vec::new();
    for line in &which.commands {
        configs.push(ExtensionConfig::from_command_line(line)?);
    }
    for text in &which.urls {
        configs.push(remote(text)?);
    }
    configs.extend(which.builtins.iter().filter_map(|name| builtin(name)));
    let mut named: Vec<ExtensionConfig> = Vec::new();
    for config in configs {
        if !named.contains(&config) {
            named.push(with_free_name(config, &named));
        }
    }
    Ok(named)
}

/// Returns the server of a URL, which `timeout=SECONDS` may follow.
fn remote(text: &str) -> anyhow::Result<ExtensionConfig> {
    let mut words = text.split_whitespace();
    let url = words.next().unwrap_or_default();
    let config = ExtensionConfig::streamable_http(host_of(url), url);
    words.try_fold(config, |config, word| {
        let seconds = word.strip_prefix("timeout=").and_then(|seconds| seconds.parse::<u64>().ok());
        let seconds = seconds.filter(|seconds| *seconds > 0);
        let limit = seconds.map(Duration::from_secs).ok_or_else(|| {
            anyhow!("'{word}' cannot follow a URL (--with-streamable-http-extension); write 'URL timeout=SECONDS'.")
        })?;
        Ok(config.with_timeout(limit))
    })
}

/// Returns the built-in service of a name. Platform extensions come with the agents, so there is nothing to add.
fn builtin(name: &str) -> Option<ExtensionConfig> {
    let is_platform = platform().iter().any(|extension| extension.name == name);
    (!is_platform).then(|| ExtensionConfig::builtin(name))
}

/// Makes the name unique: a second `notes` becomes `notes_2`.
fn with_free_name(mut config: ExtensionConfig, taken: &[ExtensionConfig]) -> ExtensionConfig {
    let base = config.name.clone();
    let mut number = 1;
    while taken.iter().any(|there| there.key() == config.key()) {
        number += 1;
        config.name = format!("{base}_{number}");
    }
    config
}

/// Returns the host of a URL, with its port if given, as the name of a server. An invalid URL is returned unchanged,
/// for the error message about it.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.is_empty() { url } else { host }
}
