//! Servers behind a URL: what their statuses mean, and where headers may go (RELIABILITY 12 and 13).
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use anyhow::{Context as _, ensure};
use goose::{
    agents::{extension::ExtensionConfig, extension_manager::ExtensionManager},
    config::EnvSecrets,
    services::Phase,
};
use goose_extension::ToolError;
use goose_test_support::binary;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::support::{World, bounded, failure, phase, status, text, tool_names};

/// A server behind a URL that notes the headers of all requests. It ends with this.
struct Site {
    url: String,
    log: PathBuf,
    _process: Child,
}

impl Site {
    async fn start(world: &World, name: &str, flags: &[&str]) -> anyhow::Result<Self> {
        let log = world.file(name).with_extension("headers");
        let mut command = Command::new(binary("faulty_server")?);
        command.args(["--http", "--headers-log"]).arg(&log).args(flags);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let output = process.stdout.take().context("its output is piped")?;
        let url = bounded(BufReader::new(output).lines().next_line()).await??.context("it says its URL")?;
        Ok(Self { url, log, _process: process })
    }

    fn config(&self, name: &str) -> ExtensionConfig {
        ExtensionConfig::streamable_http(name, &self.url)
    }

    /// Returns the number of messages that were sent to it.
    fn posts(&self) -> anyhow::Result<usize> {
        Ok(read(&self.log)?.lines().filter(|line| *line == "POST").count())
    }

    /// The sessions that requests named.
    fn sessions(&self) -> anyhow::Result<BTreeSet<String>> {
        let log = read(&self.log)?;
        Ok(log.lines().filter_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned).collect())
    }
}

fn read(log: &Path) -> anyhow::Result<String> {
    if log.exists() { Ok(std::fs::read_to_string(log)?) } else { Ok(String::new()) }
}

/// A site, and a manager that has connected to it.
async fn visit(flags: &[&str]) -> anyhow::Result<(World, Site, ExtensionManager)> {
    let world = World::new()?;
    let site = Site::start(&world, "site", flags).await?;
    let manager = world.manager(vec![site.config("a"), world.server("fine", &[])?]).await?;
    let names = tool_names(&manager).await?;
    ensure!(names.iter().any(|name| name == "a__echo"), "{names:?} {:?}", status(&manager, "a"));
    Ok((world, site, manager))
}

/// The call that goes wrong, how many messages it took; the others go on and so does the service.
async fn refused(flags: &[&str]) -> anyhow::Result<(ToolError, usize)> {
    let (_world, site, manager) = visit(flags).await?;
    let before = site.posts()?;
    let error = failure(&manager, "a__echo", json!({ "text": "a" })).await?;
    let sent = site.posts()? - before;
    ensure!(phase(&manager, "a") == Some(Phase::Ready), "one refused call does not cost the service");
    ensure!(text(&manager, "fine__echo", json!({ "text": "b" })).await? == "b");
    manager.close().await;
    Ok((error, sent))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_gone_is_begun_anew_once() -> anyhow::Result<()> {
    let (_world, site, manager) = visit(&["--expire-sessions"]).await?;
    for said in ["one", "two", "three"] {
        ensure!(text(&manager, "a__echo", json!({ "text": said })).await? == said);
    }
    ensure!(site.sessions()?.len() == 3, "{:?}", site.sessions()?);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_know_its_new_session_either_is_not_asked_for_ever() -> anyhow::Result<()> {
    let (_world, site, manager) = visit(&["--status-always", "404", "--status-on", "tools/call"]).await?;
    let outcome = bounded(manager.call_tool("a__echo", json!({ "text": "a" }))).await?;
    ensure!(!matches!(&outcome, Ok(output) if !output.is_error), "{outcome:?}");
    let sessions = site.sessions()?;
    ensure!(sessions.len() == 2, "it was begun anew more or less than once: {sessions:?}");
    ensure!(text(&manager, "fine__echo", json!({ "text": "b" })).await? == "b");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_login_says_what_to_do() -> anyhow::Result<()> {
    let (error, sent) = refused(&["--status-always", "401", "--status-on", "tools/call"]).await?;
    ensure!(matches!(error, ToolError::Denied(_)) && sent == 1, "{sent} {error:?}");
    ensure!(error.to_string().contains("login") && error.to_string().contains("Authorization"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_login_at_once_is_named_with_what_to_do() -> anyhow::Result<()> {
    let world = World::new()?;
    let site = Site::start(&world, "site", &["--status-always", "401"]).await?;
    let manager = world.manager(vec![site.config("a"), world.server("fine", &[])?]).await?;
    ensure!(tool_names(&manager).await?.iter().all(|name| name.starts_with("fine__")));
    let reason = status(&manager, "a")?.service.reason.unwrap_or_default();
    ensure!(reason.contains("401") && reason.contains("Authorization"), "{reason}");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_scope_is_named() -> anyhow::Result<()> {
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
    let flags = ["--status-always", "403", "--status-on", "tools/call", "--www-authenticate", challenge];
    let (error, sent) = refused(&flags).await?;
    ensure!(matches!(error, ToolError::Denied(_)) && sent == 1, "{sent} {error:?}");
    ensure!(error.to_string().contains("403") && error.to_string().contains("files:write"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_tried_again_where_it_says_so() -> anyhow::Result<()> {
    let flags = ["--status", "503", "2", "--retry-after", "0", "--status-on", "tools/call"];
    let (_world, site, manager) = visit(&flags).await?;
    let before = site.posts()?;
    ensure!(text(&manager, "a__echo", json!({ "text": "at last" })).await? == "at last");
    ensure!(site.posts()? - before == 3);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_busy_is_given_up_after_three_tries() -> anyhow::Result<()> {
    let flags = ["--status-always", "503", "--retry-after", "0", "--status-on", "tools/call"];
    let (error, sent) = refused(&flags).await?;
    ensure!(sent == 3 && error.to_string().contains("503"), "{sent} {error}");
    Ok(())
}

/// It may have been carried out, so it is not sent a second time.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_fate_is_not_known_is_not_repeated() -> anyhow::Result<()> {
    let (error, sent) = refused(&["--status-always", "503", "--status-on", "tools/call"]).await?;
    ensure!(sent == 1 && error.to_string().contains("not sent again"), "{sent} {error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_gets_its_time_at_the_greeting_too() -> anyhow::Result<()> {
    let (_world, _site, manager) = visit(&["--status", "503", "1", "--status-on", "initialize"]).await?;
    ensure!(text(&manager, "a__echo", json!({ "text": "a" })).await? == "a");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_100_megabytes_over_http_is_refused() -> anyhow::Result<()> {
    let (error, _) = refused(&["--json-body", "100000000"]).await?;
    ensure!(error.to_string().contains("larger than 8 MiB"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_tools_are_dropped_over_http_too() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let (_world, _site, manager) = visit(&["--bad-tools", "--wire", wire]).await?;
        let report = status(&manager, "a")?;
        ensure!(report.tools == 6 && report.service.dropped_tools.len() == 10, "{wire}: {report:?}");
        manager.close().await;
    }
    Ok(())
}

fn world_with_secret() -> anyhow::Result<World> {
    World::with_context(|context| {
        context.secrets = Arc::new(EnvSecrets::from_iter([("SITE_TOKEN", "canary")]));
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed_and_no_header_goes_there() -> anyhow::Result<()> {
    let world = world_with_secret()?;
    let thief = Site::start(&world, "thief", &[]).await?;
    let site = Site::start(&world, "site", &["--redirect", &thief.url]).await?;
    let config = site.config("a").with_header("Authorization", "Bearer $SITE_TOKEN");
    let manager = world.manager(vec![config, world.server("fine", &[])?]).await?;
    ensure!(tool_names(&manager).await?.iter().all(|name| name.starts_with("fine__")));
    let reason = status(&manager, "a")?.service.reason.unwrap_or_default();
    ensure!(reason.contains("redirects to") && !reason.contains("canary"), "{reason}");
    ensure!(read(&site.log)?.contains("authorization: Bearer canary"), "the server itself got it");
    ensure!(read(&thief.log)?.is_empty(), "the other one was asked: {}", read(&thief.log)?);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_get_their_variables_and_go_with_every_request() -> anyhow::Result<()> {
    let world = world_with_secret()?;
    let site = Site::start(&world, "site", &[]).await?;
    let config = site
        .config("a")
        .with_env("TEAM", "red")
        .with_header("Authorization", "Bearer ${SITE_TOKEN}")
        .with_header("X-Team", "team $TEAM costs $5");
    let manager = world.manager(vec![config.clone()]).await?;
    ensure!(text(&manager, "a__echo", json!({ "text": "a" })).await? == "a");
    let log = read(&site.log)?;
    let requests = log.split("\n\n").filter(|request| !request.is_empty()).count();
    for header in ["authorization: Bearer canary\n", "x-team: team red costs $5\n"] {
        ensure!(log.matches(header).count() == requests && requests > 2, "{header} {log}");
    }
    let seen = format!("{:?} {}", manager.status(), json!(manager.status()));
    ensure!(!seen.contains("canary"), "{seen}");
    let missing = world.manager(vec![config.with_header("X-Key", "$NOBODY_KNOWS")]).await?;
    let reason = status(&missing, "a")?.service.reason.unwrap_or_default();
    ensure!(reason.contains("NOBODY_KNOWS") && phase(&missing, "a") == Some(Phase::Dead), "{reason}");
    manager.close().await;
    Ok(())
}
