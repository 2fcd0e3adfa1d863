//! Opening a large store and listing its sessions.

use std::time::Instant;

use goose_session::{ListOptions, NewSession, SessionStore};

use crate::{
    Folder, micros,
    report::{Bar, Report, median},
    step,
};

const SESSIONS: usize = 500;
const STEPS: usize = 100;
const STEP_BYTES: usize = 4_200;

pub(crate) async fn measure(report: &mut Report, rounds: usize) -> anyhow::Result<()> {
    let folder = Folder::new()?;
    let file = folder.file("goose.db");
    let store = SessionStore::open(&file).await?;
    for _ in 0..SESSIONS {
        let session = store.create(NewSession::in_folder("/work")).await?;
        session.append_all(&vec![step(STEP_BYTES); STEPS]).await?;
    }
    store.close().await?;
    report.note("large: the store", file.metadata()?.len() as f64 / 1e6, "MB");
    let mut times = Vec::new();
    for _ in 0..rounds.max(5) {
        let begin = Instant::now();
        let store = SessionStore::open(&file).await?;
        let listed = store.list(ListOptions::default()).await?;
        times.push(micros(begin) / 1000.0);
        anyhow::ensure!(listed.len() == SESSIONS, "{} sessions are listed", listed.len());
    }
    report.judge("large: opened and all sessions listed", median(times), "ms", Bar::Below(50.0));
    Ok(())
}
