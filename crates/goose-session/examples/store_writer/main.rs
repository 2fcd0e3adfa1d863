//! Program for tests that writes to a session store and can be made to fail at any write.
//!
//! - `store_writer FILE append COUNT` appends to a new session, and prints the number of each committed step.
//! - `store_writer FILE script` uses each operation once, prints a line for each commit, and at the end the
//!   number of writes of the database.
//! - `store_writer FILE retry` makes the same appends, and retries each until it succeeds.
//!
//! `FAULT=KIND:N` sets a fault at the N-th write of the database: `kill` kills the process before it, `torn`
//! after half of it, and `full` lets this and all later writes fail as on a full disk, until the program has
//! seen an error.

#[cfg_attr(not(target_os = "linux"), path = "no_faults.rs")]
mod faults;

use std::{io::Write as _, path::Path, time::Duration};

use anyhow::{Context as _, bail, ensure};
use goose_extension::{Message, ToolOutput};
use goose_session::{NewSession, SearchQuery, Session, SessionStore, Step, StoreError, ToolEnd};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Ok(fault) = std::env::var("FAULT") {
        faults::arm(&fault)?;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [file, "append", count] => append(Path::new(file), count.parse()?).await,
        [file, "script"] => script(Path::new(file)).await,
        [file, "retry"] => retry(Path::new(file)).await,
        _ => bail!("usage: store_writer FILE append COUNT | script | retry"),
    }
}

/// Prints a line for the parent process. It is flushed at once, because the process may be killed next.
fn report(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn message_step(number: usize) -> Step {
    Step::Message { message: Message::user(format!("step {number}")) }
}

async fn append(file: &Path, count: usize) -> anyhow::Result<()> {
    let session = SessionStore::at(file).create(NewSession::in_folder("/work")).await?;
    report(session.id())?;
    for number in 1..=count {
        report(session.append(&message_step(number)).await?)?;
    }
    session.sync().await?;
    Ok(())
}

/// Steps of the script, in batches that are committed together. One is larger than many pages.
fn batches() -> Vec<Vec<Step>> {
    let large =
        Step::ToolResult { id: "1".into(), output: ToolOutput::text("x".repeat(30_000)), end: ToolEnd::Ran };
    let ended = Step::ReplyEnded { outcome: "done".into() };
    vec![
        vec![message_step(1)],
        vec![message_step(2)],
        vec![large],
        vec![message_step(4), message_step(5), message_step(6)],
        vec![ended],
    ]
}

async fn script(file: &Path) -> anyhow::Result<()> {
    let store = SessionStore::open(file).await?;
    let session = store.create(NewSession::in_folder("/work")).await?;
    for batch in batches() {
        report(format!("steps {}", session.append_all(&batch).await?))?;
    }
    session.sync().await?;
    store.rename(session.id(), "renamed").await?;
    report("renamed")?;
    let fork = store.fork(session.id(), None).await?;
    report(format!("forked {}", fork.id()))?;
    store.remove(fork.id()).await?;
    report("removed")?;
    while store.index_newest(Duration::from_secs(1)).await? > 0 {}
    let results = store.search(&SearchQuery::new("step", 1)).await?;
    ensure!(!results.found.is_empty(), "the search found nothing");
    store.close().await?;
    report(format!("writes {}", faults::writes()))
}

/// Everything must work in the same process when the disk has space again.
async fn retry(file: &Path) -> anyhow::Result<()> {
    let store = SessionStore::at(file);
    let mut errors = Vec::new();
    let session = loop {
        match store.create(NewSession::in_folder("/work")).await {
            Ok(session) => break session,
            Err(error) => errors.push(disarm_after(error)),
        }
    };
    for batch in batches() {
        append_with_retries(&session, &batch, &mut errors).await?;
    }
    for error in errors {
        report(format!("error {error}"))?;
    }
    report(format!("writes {}", faults::writes()))
}

async fn append_with_retries(
    session: &Session,
    batch: &[Step],
    errors: &mut Vec<StoreError>,
) -> anyhow::Result<()> {
    loop {
        match session.append_all(batch).await {
            Ok(last) => return report(format!("steps {last}")),
            Err(error) => errors.push(disarm_after(error)),
        }
        errors.len().lt(&100).then_some(()).context("the appends never succeed")?;
    }
}

fn disarm_after(error: StoreError) -> StoreError {
    faults::disarm();
    error
}
