//! Measures the cost of the service pool and of an agent's extension manager. `cargo bench -p goose` prints each figure
//! with its bar and exits with 1 where a bar is missed.
//!
//! - `memory`: bytes on the heap for each service that is part of this process, was started and waits: 1,000 of them in
//!   one pool, counted by the allocator, for an extension with one tool and for the built-in `memory`. Below 100 KB.
//!   What the operating system sees (RSS) is shown beside it.
//! - `starts`: ten servers that say nothing for 2 s are added to a manager with a ready one; the time until all of them
//!   answer. Below 3 s. Meanwhile a tool of the ready server is called; its latency is shown against that before.
//! - `listing`: 100 services in this process with 50 tools each. The list of all 5,000 tools when nothing changed since
//!   the last time: below 1 ms. Shown as well: the first list, which starts the services; the list after one of them
//!   changed; and a new pool's first list of 100 programs whose tools an earlier pool left on disk, none of them
//!   started.
//! - `overhead`: in that same manager, a call by name against `Extension::call` on the extension itself, round by round
//!   in turn; the median of the differences. Below 5 µs.
//! - `throughput`: sixteen callers at once on one server on stdio. Calls in a second through the manager, against
//!   rmcp's own client with its own transport on another instance of the same server, round by round in turn; the
//!   median of the ratios. At least 0.95. That client says nothing of itself; goose says with each request that it
//!   follows tasks, and the server has to read it. So a client of rmcp's that says the same is shown as well.
//! - `code`: the same server called from a program of `code_execution`, with sixteen calls at once and one by one,
//!   against the same calls made directly, round by round in turn; the median of the ratios. At least 0.5.
//!
//! The servers are this program, started again. Names as arguments choose what is measured, `--quick` takes few rounds.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod code;
mod counting;
mod echo_server;
mod home;
mod listing;
mod memory;
mod overhead;
mod report;
mod starts;
mod throughput;
mod wide;

use goose_test_support::faulty_server;
use report::Report;

/// Counts only while `memory` is measured.
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// The thoroughness of a measurement.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    is_quick: bool,
}

impl Effort {
    /// This many rounds, or a tenth of it.
    pub(crate) fn rounds(self, thorough: usize) -> usize {
        if self.is_quick { thorough.div_ceil(10) } else { thorough }
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == home::FAULTY_SERVER => {
            let rest = rest.to_vec();
            return tokio::task::spawn_blocking(|| faulty_server::run(rest)).await?;
        }
        Some((first, _)) if first == home::ECHO => return echo_server::serve().await,
        _ => {}
    }
    let report = measure(&arguments).await?;
    std::process::exit(i32::from(!report.bars_are_met()));
}

async fn measure(arguments: &[String]) -> anyhow::Result<Report> {
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let chosen: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let wants = |name: &str| chosen.is_empty() || has(name);
    let (mut report, effort) = (Report::default(), Effort { is_quick: has("--quick") });
    // First, while nothing else is on the heap.
    if wants("memory") {
        memory::measure(&mut report).await?;
    }
    if wants("starts") {
        starts::measure(&mut report).await?;
    }
    if wants("listing") || wants("overhead") {
        let crowd = listing::Crowd::gather(&mut report).await?;
        crowd.measure(&mut report, effort).await?;
        listing::measure_disk(&mut report, effort).await?;
        overhead::measure(&mut report, &crowd, effort).await?;
    }
    if wants("throughput") {
        throughput::measure(&mut report, effort).await?;
    }
    if wants("code") {
        code::measure(&mut report, effort).await?;
    }
    Ok(report)
}
