//! `goose agents route`: the agent that a request would go to, and the tasks that it consists of. Nothing is run.

use std::{io, process::ExitCode};

use anyhow::ensure;
use goose::agents::{
    catalog::AgentCatalog,
    orchestrator_agent,
    router::{Route, RoutedBy},
};

use crate::{
    args::JsonArgs,
    escape,
    output::{FAINT, NAME, Output, print},
};

/// Prints the route of a request.
pub(super) fn run(catalog: &AgentCatalog, text: &str, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    ensure!(!text.trim().is_empty(), "The request is empty. Say what is to be done.");
    let route = orchestrator_agent::route(catalog, text)?;
    print(form, || &route, |out| show(out, &route))
}

fn show(out: &mut Output, route: &Route) -> io::Result<()> {
    let name = out.paint(NAME, escape::line(&route.id()).into_owned());
    let tier = out.paint(FAINT, tier(route.by, route.confidence));
    out.line(format_args!("{name}  {tier}"))?;
    out.line(format_args!("  {}", escape::line(&route.reason)))?;
    for task in route.tasks.iter().filter(|_| route.tasks.len() > 1) {
        let agent = out.paint(NAME, format!("{}/{}", task.agent, task.mode));
        let needs = match task.needs.is_empty() {
            true => String::new(),
            false => format!(" (after {})", task.needs.join(", ")),
        };
        out.line(format_args!("  {}. {agent}{needs}  {}", escape::line(&task.id), escape::line(&task.text)))?;
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
