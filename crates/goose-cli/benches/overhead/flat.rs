//! Comparison of the cost of late and early turns.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    cpu,
    program::{Home, Program, shell},
    report::{Report, Unit, median},
    rounds::milliseconds,
};

/// Number of turns of a run.
const TURNS: usize = 1_010;
/// The early turns, and the late ones.
const EARLY: std::ops::Range<usize> = 5..25;
const LATE: std::ops::Range<usize> = 985..1_005;
/// Permitted additional cost of a late turn, in milliseconds: the noise of this measurement.
const NOISE: f64 = 0.15;

pub(crate) fn measure(programs: &[Program], report: &mut Report) -> anyhow::Result<()> {
    let mut own = Vec::new();
    for program in programs {
        let (early, late) = run(program)?;
        report.row(
            program.name,
            &[("cpu of turn 10", early, Unit::Milliseconds), ("cpu of turn 1,000", late, Unit::Milliseconds)],
        );
        own.push((early, late));
    }
    let [(floor_early, floor_late), (early, late)] = own.as_slice() else { return Ok(()) };
    let growth = (late - floor_late) - (early - floor_early);
    report.at_most("cpu that a turn gained by 1,000, less the floor's, ms", growth, NOISE);
    Ok(())
}

/// The CPU time of an early and of a late turn, in milliseconds.
fn run(program: &Program) -> anyhow::Result<(f64, f64)> {
    let process = Arc::new(AtomicU32::new(0));
    let used: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let server = ModelServer::answering({
        let (process, used) = (Arc::clone(&process), Arc::clone(&used));
        move |asked| {
            let Some(shell) = shell(asked) else { return Turn::text("hi") };
            let mut used = used.lock();
            let turn = used.len();
            used.push(cpu::used(process.load(Ordering::Relaxed)));
            let arguments = json!({"command": format!("echo hi {turn}")}).to_string();
            if turn < TURNS {
                Turn::empty().and_call_with_id(&format!("call_{turn}"), shell, &arguments)
            } else {
                Turn::text("done")
            }
        }
    })?;
    let home = Home::new()?;
    let mut running = program.start(&home, &server)?;
    process.store(running.child.id(), Ordering::Relaxed);
    let status = running.child.wait()?;
    home.check(program, status)?;
    let used = used.lock();
    ensure!(used.len() == TURNS + 1, "{} asked {} times", program.name, used.len());
    let turn = |range: std::ops::Range<usize>| {
        let costs: Vec<f64> =
            range.map(|turn| milliseconds(used[turn + 1].saturating_sub(used[turn]))).collect();
        median(&costs)
    };
    Ok((turn(EARLY), turn(LATE)))
}
