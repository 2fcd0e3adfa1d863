//! The twenty calls: time, memory and bytes.

use std::time::Duration;

use anyhow::ensure;
use goose_test_support::model_server::Asked;

use crate::{
    memory,
    program::{Home, Program, server, shell},
    report::{Report, Unit, median},
};

/// The calls of the shell in a run.
const CALLS: usize = 20;
/// The rounds in which memory is watched.
const MEMORY_ROUNDS: usize = 3;

/// The results of one program.
#[derive(Default)]
struct Figures {
    first: Vec<f64>,
    turn: Vec<f64>,
    whole: Vec<f64>,
    memory: f64,
    body: usize,
}

pub(crate) fn measure(programs: &[Program], rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let homes = programs.iter().map(|_| Home::new()).collect::<anyhow::Result<Vec<_>>>()?;
    let mut figures: Vec<Figures> = programs.iter().map(|_| Figures::default()).collect();
    // The first round sets up homes and warms caches.
    for round in 0..=rounds {
        for (index, program) in programs.iter().enumerate() {
            let mut scratch = Figures::default();
            let into = if round == 0 { &mut scratch } else { &mut figures[index] };
            run(program, &homes[index], into)?;
        }
    }
    for (index, program) in programs.iter().enumerate() {
        for _ in 0..MEMORY_ROUNDS {
            let server = server(CALLS)?;
            let running = program.start(&homes[index], &server)?;
            figures[index].memory = figures[index].memory.max(memory::peak_megabytes(running)?);
        }
    }
    compare(programs, &figures, report);
    Ok(())
}

fn run(program: &Program, home: &Home, figures: &mut Figures) -> anyhow::Result<()> {
    let server = server(CALLS)?;
    let mut running = program.start(home, &server)?;
    let status = running.child.wait()?;
    let whole = running.started.elapsed();
    let all = server.asked();
    let asked: Vec<&Asked> = all.iter().filter(|asked| shell(asked).is_some()).collect();
    home.check(program, status)?;
    ensure!(asked.len() == CALLS + 1, "{} asked {} times", program.name, asked.len());
    figures.first.push(milliseconds(asked[0].at - running.started));
    figures.turn.extend(asked.windows(2).map(|pair| milliseconds(pair[1].at - pair[0].answered)));
    figures.whole.push(milliseconds(whole));
    figures.body = asked[0].bytes;
    Ok(())
}

fn compare(programs: &[Program], figures: &[Figures], report: &mut Report) {
    let (floor, ours, session) = (&figures[0], &figures[1], &figures[2]);
    for (program, figures) in programs.iter().zip(figures) {
        report.row(
            program.name,
            &[
                ("first", median(&figures.first), Unit::Milliseconds),
                ("turn", median(&figures.turn), Unit::Milliseconds),
                ("whole", median(&figures.whole), Unit::Milliseconds),
                ("memory", figures.memory, Unit::Megabytes),
                ("body", kilobytes(figures.body), Unit::Kilobytes),
            ],
        );
        if program.name == "goose 1.52.0" {
            report.at_least(
                "whole run, times faster than goose 1.52.0",
                median(&figures.whole) / median(&ours.whole),
                5.0,
            );
        }
    }
    report.at_most("first request, of the floor", median(&ours.first) / median(&floor.first), 1.1);
    report.at_most("turn, of the floor", median(&ours.turn) / median(&floor.turn), 1.25);
    report.at_most("turn of a session, of the floor", median(&session.turn) / median(&floor.turn), 1.25);
    report.at_most("peak memory, MB", ours.memory, 18.0);
    report.at_most("first request body, KB", kilobytes(ours.body), 10.25);
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "bodies are far below 2^52 bytes")]
fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1_000.0
}
