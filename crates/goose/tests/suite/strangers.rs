//! Tools and results that a model could not be given: dropped or made fit, one by one (RELIABILITY 8 and 15).
#![cfg(target_os = "linux")]

use anyhow::ensure;
use goose::services::Phase;
use goose_extension::MAX_OUTPUT_BYTES;
use serde_json::json;

use crate::support::{World, bounded, phase, pid, status, text, tool_names};

/// A kind of bad tool, what it is called, and what is said of it.
const BAD: &[(&str, &str, &str)] = &[
    ("empty", "", "it has no name"),
    ("duplicate", "echo", "another tool has the same name"),
    ("long", "nnnn", "its name has 10000 bytes"),
    ("control", "bell\\u{7}", "its name contains"),
    ("space", "two words", "its name contains"),
    ("not-object", "schema_not_object", "cannot be read"),
    ("string-type", "schema_string_type", "not that of an object"),
    ("wrong-keyword", "schema_wrong_keyword", "not valid"),
    ("deep", "schema_deep", "nests deeper"),
    ("no-schema", "no_schema", "cannot be read"),
];

const GOOD: [&str; 6] = ["a__cancelled", "a__count", "a__echo", "a__env", "a__pid", "a__sleep"];

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_tool_is_dropped_and_named_and_the_others_work() -> anyhow::Result<()> {
    for (kind, name, reason) in BAD {
        let world = World::new()?;
        let manager = world.manager(vec![world.server("a", &["--bad-tool", kind])?]).await?;
        ensure!(tool_names(&manager).await? == GOOD, "{kind}: {:?}", tool_names(&manager).await?);
        let dropped = status(&manager, "a")?.service.dropped_tools;
        ensure!(dropped.len() == 1, "{kind}: {dropped:?}");
        ensure!(dropped[0].name.starts_with(name) && dropped[0].name.len() < 200, "{kind}: {dropped:?}");
        ensure!(dropped[0].reason.contains(reason), "{kind}: {dropped:?}");
        ensure!(text(&manager, "a__echo", json!({ "text": kind })).await? == *kind);
        manager.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn all_bad_tools_together_cost_no_good_one() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let flags = ["--bad-tools", "--tools", "20", "--page-size", "4", "--wire", wire];
        let manager = world.manager(vec![world.server("a", &flags)?]).await?;
        ensure!(tool_names(&manager).await?.len() == 26, "{:?}", tool_names(&manager).await?);
        let report = status(&manager, "a")?;
        ensure!(report.service.dropped_tools.len() == BAD.len(), "{:?}", report.service.dropped_tools);
        ensure!(report.tools == 26 && report.service.phase == Phase::Ready);
        ensure!(text(&manager, "tool_19", json!({})).await? == "tool_19 was called");
        manager.close().await;
    }
    Ok(())
}

/// Strange results: whether the call counts as failed, and what is in its text.
const STRANGE: &[(&str, bool, &str)] = &[
    ("nul", false, "beforebetween"),
    ("invalid_utf8", false, "caf\u{fffd}"),
    ("image20mb", true, "8 MiB"),
    ("empty", false, ""),
    ("no_content", true, "answered `tools/call` badly"),
    ("wrong_shape", true, "answered `tools/call` badly"),
    ("bad_base64", false, "not base64"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_strange_result_becomes_one_that_can_be_passed_on() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--strange-results"])?]).await?;
    let process = pid(&manager, "a").await?;
    for (tool, fails, words) in STRANGE {
        let output = bounded(manager.call_tool(&format!("a__{tool}"), json!({}))).await??;
        ensure!(output.is_error == *fails && output.as_text().contains(words), "{tool}: {output:?}");
        let message = serde_json::to_string(&output.content)?;
        ensure!(!message.contains("\\u0000") && message.len() < MAX_OUTPUT_BYTES, "{tool}");
        ensure!(!output.is_error || !output.as_text().is_empty(), "{tool}: a failure says why");
        ensure!(text(&manager, "a__echo", json!({ "text": tool })).await? == *tool);
    }
    ensure!(pid(&manager, "a").await? == process && phase(&manager, "a") == Some(Phase::Ready));
    manager.close().await;
    Ok(())
}
