//! Listing 5,000 tools: known, for the first time, after a change, and from disk.

use std::{sync::Arc, time::Instant};

use anyhow::{Context as _, ensure};
use goose::{
    agents::extension_manager::ExtensionManager,
    config::ExtensionConfig,
    services::{Phase, ServiceChange, ServicePool},
};

use crate::{
    Effort,
    home::{self, FAULTY_SERVER, Home},
    report::{Bar, Report, median},
    wide::Wide,
};

const SERVICES: usize = 100;
const TOOLS: usize = 50;

/// Limit for listing without changes, in milliseconds.
const BAR: f64 = 1.0;

const ROUNDS: usize = 1000;
const CHANGES: usize = 50;
const LOADS: usize = 10;

/// A manager with many services of this process.
pub(crate) struct Crowd {
    pub(crate) manager: ExtensionManager,
    pub(crate) extensions: Vec<Arc<Wide>>,
    _home: Home,
}

impl Crowd {
    pub(crate) async fn gather(report: &mut Report) -> anyhow::Result<Self> {
        let home = Home::new()?;
        let manager = home::manager(&home.pool(), Vec::new()).await?;
        let extensions: Vec<_> =
            (0..SERVICES).map(|number| Wide::new(&format!("wide{number:02}"), TOOLS)).collect();
        let begin = Instant::now();
        for extension in &extensions {
            manager.add_extension(Arc::clone(extension) as _)?;
        }
        ensure!(manager.list_tools().await?.len() == SERVICES * TOOLS);
        report.note("100 services added, started and listed for the first time", millis(begin), "ms");
        Ok(Self { manager, extensions, _home: home })
    }

    pub(crate) async fn measure(&self, report: &mut Report, effort: Effort) -> anyhow::Result<()> {
        let mut lists = Vec::new();
        for _ in 0..effort.rounds(ROUNDS) {
            lists.push(self.list(SERVICES * TOOLS).await?);
        }
        report.judge("5,000 tools listed when nothing changed", median(lists), "ms", Bar::Below(BAR));
        let mut changed = Vec::new();
        for round in 0..effort.rounds(CHANGES) {
            // One tool more, then one less.
            let more = (round + 1) % 2;
            self.change(TOOLS + more).await?;
            changed.push(self.list(SERVICES * TOOLS + more).await?);
        }
        report.note("5,000 tools listed after one service changed", median(changed), "ms");
        Ok(())
    }

    async fn list(&self, expected: usize) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let tools = self.manager.list_tools().await?;
        let took = millis(begin);
        ensure!(tools.len() == expected, "{} tools", tools.len());
        Ok(took)
    }

    /// Gives the last service other tools, and waits until the pool has seen it.
    async fn change(&self, tools: usize) -> anyhow::Result<()> {
        let mut events = self.manager.events();
        if let Some(extension) = self.extensions.last() {
            extension.change(tools);
        }
        while events.recv().await.context("the manager is there")?.change != ServiceChange::Tools {}
        Ok(())
    }
}

/// The first list of a new pool, for programs that an earlier pool has seen.
pub(crate) async fn measure_disk(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    let home = Home::new()?;
    let configs: Vec<_> = (0..SERVICES).map(program).collect::<anyhow::Result<_>>()?;
    let count = write(&home.pool(), &configs).await?;
    let mut loads = Vec::new();
    for _ in 0..effort.rounds(LOADS) {
        let pool = home.pool();
        let begin = Instant::now();
        let manager = home::manager(&pool, configs.clone()).await?;
        let tools = manager.list_tools().await?;
        loads.push(millis(begin));
        ensure!(tools.len() == count, "{} of {count} tools", tools.len());
        ensure!(pool.services().iter().all(|service| service.phase() == Phase::Idle), "one was started");
    }
    report.note("5,000 tools of 100 programs listed from disk, none started", median(loads), "ms");
    Ok(())
}

/// Programs that differ, so that each has a list of its own.
fn program(number: usize) -> anyhow::Result<ExtensionConfig> {
    let (name, tools) = (format!("program{number:02}"), TOOLS.to_string());
    home::server(&name, &[FAULTY_SERVER, "--tools", &tools, "--stderr", &name])
}

/// Starts all programs once, so that their lists are on disk. Gives the number of tools.
async fn write(pool: &Arc<ServicePool>, configs: &[ExtensionConfig]) -> anyhow::Result<usize> {
    let mut count = 0;
    for some in configs.chunks(10) {
        let manager = home::manager(pool, some.to_vec()).await?;
        count += manager.list_tools().await?.len();
        manager.close().await;
    }
    Ok(count)
}

fn millis(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}
