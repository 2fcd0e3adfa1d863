//! `goose extension status`: starts extensions concurrently and shows their status.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    process::ExitCode,
    time::Duration,
};

use goose::{
    agents::extension_manager::{ExtensionManager, ExtensionStatus},
    config::{ExtensionConfig, Settings},
    services::Phase,
};
use goose_extension::ToolResult;
use goose_mcp_bridge::DroppedTool;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    args::JsonArgs,
    escape,
    output::{BAD, FAINT, GOOD, INDENT, NAME, Output, WARNING, counted, print},
    runtime::with_extensions,
    selection::Candidate,
    stderr,
};

/// State of an extension with an invalid configuration.
const BROKEN: &str = "broken";

#[derive(Default, Serialize)]
struct Row {
    name: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    state: &'static str,
    reason: Option<String>,
    ready_ms: Option<u64>,
    ping_ms: Option<u64>,
    protocol: Option<String>,
    version: Option<String>,
    description: Option<String>,
    tools: usize,
    missing_tools: Vec<String>,
    dropped_tools: Vec<DroppedTool>,
    stderr: Option<String>,
    /// The extension's own status values.
    status: BTreeMap<String, Value>,
    /// True if it was started and pinged for this row.
    #[serde(skip)]
    is_tried: bool,
}

/// Outcome of starting an extension.
struct Started {
    name: String,
    ready: ToolResult<Duration>,
    ping: Option<ToolResult<Duration>>,
    status: BTreeMap<String, Value>,
}

/// Starts the chosen extensions and prints their status.
pub(super) fn run(settings: &Settings, chosen: Vec<Candidate>, form: &JsonArgs) -> anyhow::Result<ExitCode> {
    let configs = chosen.iter().filter_map(|candidate| candidate.usable().ok()).collect();
    with_extensions(settings, configs, async |manager, stop| {
        let Some(tried) = stop.run_until_cancelled(start_all(manager)).await else {
            return Ok(ExitCode::FAILURE);
        };
        let extensions = rows(&chosen, manager.status(), &tried);
        let ready = extensions.iter().all(Row::is_ready);
        let width = extensions.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
        let document = || json!({ "ready": ready, "extensions": extensions });
        print(form, document, |out| extensions.iter().try_for_each(|row| print_row(out, row, width)))?;
        Ok(if ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Prints the state of all extensions of a manager, and starts none.
pub(super) fn show(manager: &ExtensionManager) -> io::Result<()> {
    let rows: Vec<Row> = manager.status().into_iter().map(|status| Row::new(status, None)).collect();
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let mut out = Output::new();
    rows.iter().try_for_each(|row| print_row(&mut out, row, width))?;
    out.finish()
}

/// Starts all extensions of a manager concurrently.
async fn start_all(manager: &ExtensionManager) -> Vec<Started> {
    if stderr::is_seen() {
        stderr::status(&format!("Starting {} …", manager.names().join(", ")));
    }
    let mut trying = JoinSet::new();
    for name in manager.names() {
        let Ok(service) = manager.service(&name) else { continue };
        trying.spawn(async move {
            let started_at = Instant::now();
            let ready = service.ready().await.map(|_| started_at.elapsed());
            let ping = if ready.is_ok() { Some(service.ping().await) } else { None };
            let status = if ready.is_ok() { service.extension_status().await } else { Ok(HashMap::new()) };
            Started { name, ready, ping, status: status.unwrap_or_default().into_iter().collect() }
        });
    }
    let tried = trying.join_all().await;
    stderr::end_status();
    tried
}

/// Returns one row per chosen extension, in their order.
fn rows(chosen: &[Candidate], status: Vec<ExtensionStatus>, tried: &[Started]) -> Vec<Row> {
    let mut status = status.into_iter();
    let row = |candidate: &Candidate| match candidate.usable() {
        Ok(_) => {
            let status = status.next()?;
            let tried = tried.iter().find(|tried| tried.name == status.name);
            Some(Row::new(status, tried))
        }
        Err(error) => Some(Row::broken(candidate, error.to_string())),
    };
    chosen.iter().filter_map(row).collect()
}

impl Row {
    fn new(status: ExtensionStatus, tried: Option<&Started>) -> Self {
        let ping = tried.and_then(|tried| tried.ping.as_ref());
        let failed_ping = ping.and_then(|ping| ping.as_ref().err()).map(ToString::to_string);
        let service = status.service;
        Self {
            name: status.name,
            kind: Some(service.kind),
            state: service.phase.as_str(),
            reason: failed_ping.or(service.reason),
            ready_ms: tried.and_then(|tried| tried.ready.as_ref().ok().map(millis)),
            ping_ms: ping.and_then(|ping| ping.as_ref().ok().map(millis)),
            protocol: service.protocol,
            version: status.version,
            description: status.description,
            tools: status.tools,
            missing_tools: status.missing_tools,
            dropped_tools: service.dropped_tools,
            stderr: service.stderr,
            status: tried.map(|tried| tried.status.clone()).unwrap_or_default(),
            is_tried: tried.is_some(),
        }
    }

    fn broken(candidate: &Candidate, reason: String) -> Self {
        Self {
            name: candidate.key.clone(),
            kind: candidate.config.as_ref().map(ExtensionConfig::type_name),
            state: BROKEN,
            reason: Some(reason),
            is_tried: true,
            ..Self::default()
        }
    }

    /// Returns true if it runs, and answered a ping if it was pinged.
    fn is_ready(&self) -> bool {
        self.state == Phase::Ready.as_str() && (self.ping_ms.is_some() || !self.is_tried)
    }

    /// Returns true if it was not started yet, and is not needed so far.
    fn is_waiting(&self) -> bool {
        let phases = [Phase::Idle, Phase::Starting];
        !self.is_tried && phases.iter().any(|phase| phase.as_str() == self.state)
    }

    /// Summarizes the row on one line.
    fn facts(&self) -> String {
        let mut facts = Vec::new();
        match self.ready_ms.filter(|_| self.is_ready()) {
            Some(time) => facts.push(format!("ready in {}", duration(time))),
            None => facts.push(self.state.to_owned()),
        }
        if self.is_ready() || (self.is_waiting() && self.tools > 0) {
            facts.push(counted(self.tools as u64, "tool"));
        }
        facts.extend(self.kind.map(str::to_owned));
        facts.extend(self.protocol.as_ref().map(|version| format!("MCP {}", escape::line(version))));
        if let Some(ping) = self.ping_ms.filter(|_| self.protocol.is_some()) {
            facts.push(format!("ping {}", duration(ping)));
        }
        facts.join(" · ")
    }
}

fn print_row(out: &mut Output, row: &Row, width: usize) -> io::Result<()> {
    let mark = match row.is_ready() {
        true => out.paint(GOOD, "✓"),
        false if row.is_waiting() => out.paint(FAINT, "-"),
        false => out.paint(BAD, "✗"),
    };
    let name = out.paint(NAME, format!("{:width$}", escape::line(&row.name)));
    out.line(format_args!("{mark} {name}  {}", row.facts()))?;
    if let Some(reason) = row.reason.as_deref().filter(|_| !row.is_ready()) {
        out.indented(INDENT, BAD, reason)?;
    }
    for DroppedTool { name, reason } in &row.dropped_tools {
        let name = escape::line(name);
        out.indented(INDENT, WARNING, &format!("ignored the tool `{name}`: {reason}"))?;
    }
    if !row.missing_tools.is_empty() {
        let missing = row.missing_tools.join(", ");
        out.indented(INDENT, WARNING, &format!("available_tools names unknown tools: {missing}"))?;
    }
    // The line above has what is known of a connection.
    for (name, value) in row.status.iter().filter(|_| row.protocol.is_none()) {
        if let Some(value) = status_text(value) {
            out.indented(INDENT, FAINT, &format!("{}: {value}", name.replace('_', " ")))?;
        }
    }
    if let Some(stderr) = row.stderr.as_deref().filter(|_| !row.is_ready()) {
        out.indented(INDENT, FAINT, stderr)?;
    }
    Ok(())
}

/// A value of a status for people; `None` if there is nothing to say.
fn status_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().filter_map(status_text).collect();
            (!items.is_empty()).then(|| items.join(", "))
        }
        Value::Object(fields) => {
            fields.get("state").and_then(status_text).or_else(|| Some(value.to_string()))
        }
        other => Some(other.to_string()),
    }
}

fn millis(duration: &Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Formats a duration.
fn duration(millis: u64) -> String {
    match millis {
        0..=9_999 => format!("{millis} ms"),
        _ => format!("{} s", millis / 1000),
    }
}
