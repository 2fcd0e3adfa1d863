//! Measures the session store. `cargo bench -p goose-session --bench store` prints each figure with its
//! limit, and exits with 1 if a limit is missed.
//!
//! - `append`: committing one step of 400 bytes, compared with a bare `INSERT` of the same bytes through sqlx
//!   into a file with the same settings, alternately. The ratio of the medians is below 2.5, although an
//!   append also updates the counters of the session in the same transaction; the median is below 100 µs.
//! - `flat`: the median of appends after step 10 divided by that after step 20,000: at least 0.75.
//! - `open`: a new process opens an existing store and creates a session: below 2 ms.
//! - `large`: a store of 200 MB is opened and all of its 500 sessions are listed: below 50 ms.
//! - `search`: 10,000 sessions with 200,000 messages, all of which contain some frequent words. Each search,
//!   with and without a time span, takes less than 50 ms; the first one, before anything is indexed, 500 ms.
//! - `sync`: the end of a reply with 40 steps, and of that the indexing of one step. Both have no limit.
//!
//! Arguments choose the measurements by name; `--quick` runs fewer rounds.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod floor;
mod large;
mod open;
#[path = "../../../goose/benches/services/report.rs"]
mod report;
mod search;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use goose_extension::{Message, ToolOutput};
use goose_session::{NewSession, Session, SessionStore, Step, ToolEnd};
use report::{Bar, Report, median};

/// Number of steps of a long session.
const MANY_STEPS: usize = 20_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [open::CHILD, file] = arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        return open::be_child(Path::new(file)).await;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let chosen = arguments.iter().any(|argument| !argument.starts_with("--"));
    let wants = |name: &str| !chosen || has(name);
    let rounds = if has("--quick") { 200 } else { 3_000 };
    let mut report = Report::default();
    if wants("append") {
        append(&mut report, rounds).await?;
    }
    if wants("flat") {
        flat(&mut report, rounds).await?;
    }
    if wants("open") {
        open::measure(&mut report, rounds / 30).await?;
    }
    if wants("large") {
        large::measure(&mut report, rounds / 100).await?;
    }
    if wants("search") {
        search::measure(&mut report, rounds / 100).await?;
    }
    if wants("sync") {
        sync(&mut report, rounds / 100).await?;
    }
    std::process::exit(i32::from(!report.bars_are_met()));
}

/// Temporary folder for stores.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

pub(crate) fn step(bytes: usize) -> Step {
    Step::ToolResult {
        id: "call_1".into(),
        output: ToolOutput::text("some words ".repeat(bytes / 11)),
        end: ToolEnd::Ran,
    }
}

pub(crate) async fn session(file: &Path) -> anyhow::Result<Session> {
    let session = SessionStore::open(file).await?.create(NewSession::in_folder("/work")).await?;
    session.append(&Step::Message { message: Message::user("hello") }).await?;
    Ok(session)
}

/// Returns the elapsed microseconds.
pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

async fn timed(session: &Session, step: &Step) -> anyhow::Result<f64> {
    let begin = Instant::now();
    session.append(step).await?;
    Ok(micros(begin))
}

async fn append(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let session = session(&folder.file("goose.db")).await?;
    let mut floor = floor::Floor::new(&folder.file("floor.db")).await?;
    let step = step(400);
    let body = serde_json::to_string(&step)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(&session, &step).await?);
        bare.push(floor.insert(&body).await?);
    }
    let (ours, bare) = (median(ours), median(bare));
    report.note("append: a bare insert", bare, "µs");
    report.judge("append: a step", ours, "µs", Bar::Below(100.0));
    report.judge("append: a step / a bare insert", ours / bare, "", Bar::Below(2.5));
    Ok(())
}

async fn flat(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let long = session(&folder.file("long.db")).await?;
    let step = step(400);
    for _ in 0..MANY_STEPS / 1000 {
        long.append_all(&vec![step.clone(); 1000]).await?;
    }
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for round in 0..rounds / 100 {
        let short = session(&folder.file(&format!("short{round}.db"))).await?;
        short.append_all(&vec![step.clone(); 9]).await?;
        for _ in 0..100 {
            early.push(timed(&short, &step).await?);
            late.push(timed(&long, &step).await?);
        }
    }
    let (early, late) = (median(early), median(late));
    report.note("flat: from step 10 on", early, "µs");
    report.note("flat: from step 20,000 on", late, "µs");
    report.judge("flat: early / late", early / late, "", Bar::AtLeast(0.75));
    Ok(())
}

async fn sync(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let file = folder.file("goose.db");
    let session = session(&file).await?;
    let store = SessionStore::open(&file).await?;
    let (mut disk, mut index) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(5) {
        session.append_all(&vec![step(400); 40]).await?;
        let begin = Instant::now();
        store.sync().await?;
        disk.push(micros(begin) / 1000.0);
        let begin = Instant::now();
        store.index(session.id()).await?;
        index.push(micros(begin) / 40.0);
    }
    report.note("sync: the disk", median(disk), "ms");
    report.note("sync: the index, for a step", median(index), "µs");
    Ok(())
}
