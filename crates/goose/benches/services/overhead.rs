//! The overhead of the manager for a call.

use std::{sync::Arc, time::Instant};

use anyhow::{Context as _, ensure};
use goose_extension::{CallContext, Extension, JsonObject, ToolOutput, ToolResult};
use serde_json::json;

use crate::{
    Effort,
    listing::Crowd,
    report::{Bar, Report, median},
};

/// Limit of the overhead in microseconds.
const BAR: f64 = 5.0;

const ROUNDS: usize = 100;
const CALLS: u32 = 1000;

pub(crate) async fn measure(report: &mut Report, crowd: &Crowd, effort: Effort) -> anyhow::Result<()> {
    let extension: Arc<dyn Extension> = Arc::clone(crowd.extensions.first().context("a service")?) as _;
    let name = format!("{}__tool_7", extension.name());
    let context = CallContext::new();
    let (mut direct, mut managed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds(ROUNDS) {
        let alone = round(|| extension.call("tool_7", arguments(), &context)).await?;
        let through = round(|| crowd.manager.call_tool_with(&name, arguments(), &context)).await?;
        direct.push(alone);
        managed.push(through);
        added.push(through - alone);
    }
    report.note("a call of the extension itself", median(direct), "µs");
    report.note("the same call through the manager", median(managed), "µs");
    report.judge("what the manager adds to a call", median(added), "µs", Bar::Below(BAR));
    Ok(())
}

fn arguments() -> JsonObject {
    JsonObject::from_iter([("name".to_owned(), json!("hello"))])
}

/// The time of one call, in microseconds.
async fn round<F>(call: impl Fn() -> F) -> anyhow::Result<f64>
where
    F: Future<Output = ToolResult<ToolOutput>>,
{
    let begin = Instant::now();
    for _ in 0..CALLS {
        let output = call().await?;
        ensure!(!output.is_error, "{}", output.as_text());
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS))
}
