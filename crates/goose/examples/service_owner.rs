//! For tests: a program that owns services.
//!
//! `service_owner HOME FAULTY_SERVER` starts two servers that leave grandchildren, prints the ids of all processes in
//! one line, and ends without a goodbye when its input ends. `service_owner HOME FAULTY_SERVER ROUNDS` starts and stops
//! a server that often, and prints what it holds, `files N tasks N children [PID …]`, after a few rounds to warm up and
//! at the end.

use std::{io::Write as _, path::Path, time::Duration};

use anyhow::{Context as _, ensure};
use goose::{
    agents::{
        extension::ExtensionConfig,
        extension_manager::{ExtensionManager, ManagerOptions},
    },
    config::Paths,
    services::{BindingContext, PoolOptions, ServicePool},
};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

const WARM_UP: usize = 5;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, faulty_server, rounds @ ..] = arguments.as_slice() else {
        anyhow::bail!("Use it so: owner HOME FAULTY_SERVER [ROUNDS]")
    };
    let path = std::env::var("PATH").context("there is a PATH")?;
    let paths = Paths::under(Path::new(home));
    let pool = ServicePool::new(PoolOptions::new(&paths, goose_mcp::BUILTINS).without_cache());
    let options = ManagerOptions::in_pool(pool, BindingContext::new(&paths, [("PATH".to_owned(), path)]));
    match rounds.first() {
        None => own(&options, faulty_server).await,
        Some(rounds) => {
            cycle(&options, faulty_server, WARM_UP).await?;
            report().await?;
            cycle(&options, faulty_server, rounds.parse()?).await?;
            report().await
        }
    }
}

async fn manager(
    options: &ManagerOptions,
    configs: Vec<ExtensionConfig>,
    token: CancellationToken,
) -> anyhow::Result<ExtensionManager> {
    Ok(ExtensionManager::with_options(configs, token, options.clone()).await?)
}

/// Starts servers and forgets them.
async fn own(options: &ManagerOptions, faulty_server: &str) -> anyhow::Result<()> {
    let stubborn = ["--grandchildren", "--ignore-eof", "--ignore-term"];
    let configs = vec![
        ExtensionConfig::stdio("plain", faulty_server, ["--grandchildren"]),
        ExtensionConfig::stdio("stubborn", faulty_server, stubborn),
    ];
    let manager = manager(options, configs, CancellationToken::new()).await?;
    let mut pids = Vec::new();
    for name in ["plain", "stubborn"] {
        let left = call(&manager, &format!("{name}__grandchildren")).await?;
        pids.extend(serde_json::from_str::<Vec<u32>>(&left)?);
        pids.push(call(&manager, &format!("{name}__pid")).await?.parse()?);
    }
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    writeln!(std::io::stdout(), "{}", pids.join(" "))?;
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    std::process::exit(0)
}

async fn call(manager: &ExtensionManager, tool: &str) -> anyhow::Result<String> {
    let output = manager.call_tool(tool, json!({})).await?;
    ensure!(!output.is_error, "{}", output.as_text());
    Ok(output.as_text())
}

/// Every third time the manager is closed, every third it is cancelled, every third its server is killed.
async fn cycle(options: &ManagerOptions, faulty_server: &str, rounds: usize) -> anyhow::Result<()> {
    for round in 0..rounds {
        let config = ExtensionConfig::stdio("a", faulty_server, ["--grandchildren", "--die-on-call", "work"]);
        let token = CancellationToken::new();
        let manager = manager(options, vec![config], token.clone()).await?;
        call(&manager, "a__pid").await?;
        match round % 3 {
            0 => manager.close().await,
            1 => token.cancel(),
            _ => drop(manager.call_tool("a__work", json!({})).await?),
        }
        drop(manager);
    }
    Ok(())
}

/// Waits until nothing changes any more, because dropped services end in the background.
async fn report() -> anyhow::Result<()> {
    let (mut last, mut calm) = (count()?, 0);
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let now = count()?;
        calm = if now == last && now.ends_with("children []") { calm + 1 } else { 0 };
        last = now;
        if calm == 100 {
            break;
        }
    }
    Ok(writeln!(std::io::stdout(), "{last}")?)
}

fn count() -> anyhow::Result<String> {
    let files = std::fs::read_dir("/proc/self/fd")?.count();
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    Ok(format!("files {files} tasks {tasks} children {:?}", children()?))
}

/// Our children, also those that only wait to be reaped.
fn children() -> anyhow::Result<Vec<u32>> {
    let own = std::process::id();
    let parent = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let pids = std::fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(pids.filter(|pid| parent(pid) == Some(own)).collect())
}
