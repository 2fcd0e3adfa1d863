//! The cost of the copies that a session keeps of the files it changes: turns that change a file, in a session and in
//! `goose run`, which keeps none.

use std::fs;

use anyhow::ensure;
use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use crate::{
    program::{Home, goose, session, shell},
    report::{Report, Unit, median},
    rounds::milliseconds,
};

/// Files that a run changes, one a turn.
const FILES: usize = 20;
/// Lines of a file.
const LINES: usize = 200;

pub(crate) fn measure(rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let programs = [goose(), session()];
    let homes = [Home::new()?, Home::new()?];
    let mut turns = [Vec::new(), Vec::new()];
    // The first round sets up homes and makes the files; the others change a line in each.
    for round in 0..=rounds {
        for (index, program) in programs.iter().enumerate() {
            let server = server(round)?;
            let mut running = program.start(&homes[index], &server)?;
            homes[index].check(program, running.child.wait()?)?;
            let asked: Vec<_> = server.asked().into_iter().filter(|asked| shell(asked).is_some()).collect();
            ensure!(asked.len() == FILES + 1, "{} asked {} times", program.name, asked.len());
            if round > 0 {
                turns[index].extend(asked.windows(2).map(|pair| milliseconds(pair[1].at - pair[0].answered)));
            }
        }
    }
    for home in &homes {
        let text = fs::read_to_string(home.folder().join("file0.txt"))?;
        ensure!(text.starts_with(&format!("round {rounds}.")), "a file was not changed: {text}");
    }
    let [without, with] = turns.map(|turns| median(&turns));
    report.row("goose", &[("turn that changes a file", without, Unit::Milliseconds)]);
    report.row("goose session", &[("turn that changes a file", with, Unit::Milliseconds)]);
    report.at_most("turn that changes a file, with a copy, of one without", with / without, 1.25);
    Ok(())
}

/// A server that asks to make the files in the first round, and to change each of them in the others.
fn server(round: usize) -> anyhow::Result<ModelServer> {
    ModelServer::answering(move |asked| {
        if shell(asked).is_none() {
            return Turn::text("hi");
        }
        let done = asked.tool_results().len();
        if done == FILES {
            return Turn::text("done");
        }
        let path = format!("file{done}.txt");
        let (tool, arguments) = match round {
            0 => (
                "write",
                json!({"path": path, "content": "round 0.\n".to_owned() + &"a line\n".repeat(LINES)}),
            ),
            _ => {
                let (before, after) = (format!("round {}.", round - 1), format!("round {round}."));
                ("edit", json!({"path": path, "before": before, "after": after}))
            }
        };
        Turn::empty().and_call_with_id(&format!("call_{done}"), tool, &arguments.to_string())
    })
}
