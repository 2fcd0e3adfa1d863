//! The cost of a call on each path, against the same tool written with rmcp's own macros.
//!
//! `cargo bench -p goose-extension` measures all contenders in one run, round by round in turn, so that a noisy
//! machine disturbs all of them alike, and compares medians of ratios. It exits with 1 where a bar is missed:
//!
//! - a direct call is at least 50 times faster than one over the in-process duplex;
//! - duplex, stdio and HTTP take at most 5 % longer than rmcp's own server and client.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod contender;
mod goose_echo;
mod report;
mod rmcp_echo;

use contender::{Contender, Wire};
use report::Report;

/// Rounds of each contender.
const ROUNDS: usize = 40;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    // The stdio contenders start this program again as their server.
    match arguments.get(1).map(String::as_str) {
        Some("serve-goose") => return goose_echo::serve_stdio().await,
        Some("serve-rmcp") => return rmcp_echo::serve_stdio().await,
        _ => {}
    }
    let rounds = if arguments.iter().any(|argument| argument == "--quick") { 6 } else { ROUNDS };
    let mut contenders = vec![goose_echo::direct().await?];
    for wire in Wire::ALL {
        contenders.push(goose_echo::over(wire).await?);
        contenders.push(rmcp_echo::over(wire).await?);
    }
    for contender in &mut contenders {
        contender.warm_up().await?;
    }
    for _ in 0..rounds {
        for contender in &mut contenders {
            contender.round().await?;
        }
    }
    let report = Report::new(contenders);
    report.print();
    std::process::exit(i32::from(!report.bars_are_met()));
}
