//! `goose agents route`: the agent that a request would go to, and the tasks that it consists of. Nothing is run.

use std::{io, process::ExitCode};

use anyhow::ensure;
use goose::agents::{
    catalog::AgentCatalog,
    orchestrator_agent::{self, Route, RouteSettings, RoutedBy, SplitSetting},
};

use crate::{
    args::JsonArgs,
    escape,
    output::{FAINT, NAME, Output, print},
};

/// Prints the route of the first request of a session.
pub(super) fn run(
    catalog: &AgentCatalog,
    settings: RouteSettings,
    text: &str,
    form: &JsonArgs,
) -> anyhow::Result<ExitCode> {
    ensure!(!text.trim().is_empty(), "The request is empty. Say what is to be done.");
    let route = orchestrator_agent::route(catalog, text, settings, None)?;
    print(form, || &route, |out| show(out, &route, settings.split))
}

fn show(out: &mut Output, route: &Route, split: SplitSetting) -> io::Result<()> {
    let name = out.paint(NAME, escape::line(&route.id()).into_owned());
    let tier = out.paint(FAINT, tier(route.by, route.confidence));
    out.line(format_args!("{name}  {tier}"))?;
    out.line(format_args!("  {}", escape::line(&route.reason)))?;
    if route.tasks.len() > 1 {
        out.line(match split {
            SplitSetting::Auto => "  It is split into tasks:",
            _ => "  At a terminal you are asked whether to split it into tasks:",
        })?;
        for task in &route.tasks {
            let agent = out.paint(NAME, format!("{}/{}", task.agent, task.mode));
            out.line(format_args!("  {}. {agent}  {}", escape::line(&task.id), escape::line(&task.text)))?;
        }
    }
    Ok(())
}

/// The tier that decided, with its confidence.
pub(crate) fn tier(by: RoutedBy, confidence: f32) -> String {
    match by {
        RoutedBy::User => "your choice".to_owned(),
        RoutedBy::Session => "the session's agent".to_owned(),
        RoutedBy::Accelerator => "the fast model".to_owned(),
        _ => format!("{:.0} %", confidence * 100.0),
    }
}
