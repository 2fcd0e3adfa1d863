//! Opening a store in a new process: this program, started again. It ends without closing the store, as
//! programs do.

#![expect(clippy::print_stdout, reason = "the child reports to its parent on standard output")]

use std::{path::Path, process::Command, time::Instant};

use goose_session::{NewSession, SessionStore};

use crate::{
    Folder, micros,
    report::{Bar, Report, median},
    session, step,
};

/// Argument that makes this program the child; the file follows.
pub(crate) const CHILD: &str = "be-opener";

/// Number of steps that other processes have left in the log.
const STEPS_IN_LOG: usize = 100;

pub(crate) async fn be_child(file: &Path) -> anyhow::Result<()> {
    let begin = Instant::now();
    let session = SessionStore::open(file).await?.create(NewSession::in_folder("/work")).await?;
    let opened = micros(begin) / 1000.0;
    session.append(&step(400)).await?;
    println!("{opened} {}", micros(begin) / 1000.0);
    std::process::exit(0);
}

pub(crate) async fn measure(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let file = folder.file("goose.db");
    let others = session(&file).await?;
    others.append_all(&vec![step(400); STEPS_IN_LOG]).await?;
    drop(others);
    let (mut opened, mut appended) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (open, append) = open_once(&file)?;
        opened.push(open);
        appended.push(append);
    }
    report.judge("open: an existing store, and a session in it", median(opened), "ms", Bar::Below(2.0));
    report.note("open: and its first step", median(appended), "ms");
    let new = (0..rounds.min(10))
        .map(|round| open_once(&folder.file(&format!("{round}.db"))).map(|(open, _)| open));
    report.note("open: a new store", median(new.collect::<Result<_, _>>()?), "ms");
    Ok(())
}

fn open_once(file: &Path) -> anyhow::Result<(f64, f64)> {
    let output = Command::new(std::env::current_exe()?).arg(CHILD).arg(file).output()?;
    let text = String::from_utf8(output.stdout)?;
    let (open, append) =
        text.trim().split_once(' ').ok_or_else(|| anyhow::anyhow!("the child failed: {text}"))?;
    Ok((open.parse()?, append.parse()?))
}
