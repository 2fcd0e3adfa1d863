//! Checks of the enabled extensions: their requirements, and on request their start.

use std::{cell::RefCell, process::ExitCode};

use goose::config::{ConfiguredExtension, ExtensionConfig, ExtensionKind, Settings, shown_address};
use tokio::task::JoinSet;

use super::{Check, machine::in_path};
use crate::{builtins, runtime::with_extensions};

pub(super) fn check(settings: &Settings) -> Vec<Check> {
    // Switches of other versions are understood and need no check; only unknown ones are worth a line.
    let is_checked =
        |entry: &&ConfiguredExtension| entry.enabled && (!entry.is_switch() || entry.is_unknown_platform());
    settings.extensions().iter().filter(is_checked).map(|entry| one(entry, settings)).collect()
}

fn one(entry: &ConfiguredExtension, settings: &Settings) -> Check {
    let name = format!("extension {}", entry.key);
    let config = match entry.checked() {
        Ok(config) => config,
        Err(error) => {
            return Check::bad(name, error.to_string(), "correct the entry, or set 'enabled: false'");
        }
    };
    if let Err(error) = config.resolve(&*settings.secrets()) {
        return Check::bad(name, error.to_string(), "set it, or set 'enabled: false'");
    }
    match &config.kind {
        ExtensionKind::Stdio { cmd, .. } => program(name, cmd),
        ExtensionKind::InlinePython { .. } => program(name, "uvx"),
        ExtensionKind::Builtin { .. } if builtins::find(&config.key()).is_none() => {
            let says = format!("goose has no built-in '{}'", config.name());
            Check::warning(name, says, format!("remove or rename it; built-ins are: {}", builtins::names()))
        }
        ExtensionKind::Platform => {
            let says = format!("goose has no platform extension '{}'; the entry is ignored", config.name());
            Check::warning(name, says, "remove the entry, or set 'enabled: false'")
        }
        ExtensionKind::StreamableHttp { uri, .. } => {
            Check::good(name, format!("{} (not contacted; use --start)", shown_address(uri)))
        }
        _ => Check::good(name, config.type_name()),
    }
}

fn program(name: String, program: &str) -> Check {
    match in_path(program) {
        Some(path) => Check::good(name, path.display().to_string()),
        None => Check::bad(
            name,
            format!("the program '{program}' was not found"),
            "install it, correct 'cmd', or set 'enabled: false'",
        ),
    }
}

/// Starts all enabled extensions concurrently.
pub(super) fn start(settings: &Settings) -> anyhow::Result<Vec<Check>> {
    let enabled = settings.extensions().iter().filter(|entry| entry.enabled && !entry.is_switch());
    let configs: Vec<ExtensionConfig> = enabled.filter_map(|entry| entry.checked().ok().cloned()).collect();
    if configs.is_empty() {
        return Ok(Vec::new());
    }
    let checks = RefCell::new(Vec::new());
    with_extensions(settings, configs, async |manager, stop| {
        let mut starting = JoinSet::new();
        for name in manager.names() {
            let Ok(service) = manager.service(&name) else { continue };
            starting.spawn(async move { (name, service.ready().await.map(drop)) });
        }
        let started = stop.run_until_cancelled(starting.join_all()).await.unwrap_or_default();
        checks.borrow_mut().extend(started.into_iter().map(|(name, started)| match started {
            Ok(()) => Check::good(format!("start of {name}"), "started"),
            Err(error) => Check::bad(
                format!("start of {name}"),
                error.to_string(),
                format!("see 'goose extension status {name}', or set 'enabled: false'"),
            ),
        }));
        Ok(ExitCode::SUCCESS)
    })?;
    Ok(checks.into_inner())
}
