//! For tests: a program that writes to a session store and can be made to fail at any write.
//!
//! - `store_writer FILE append COUNT` appends to a session of its own and prints the number of each step that is
//!   committed.
//! - `store_writer FILE script` does one of everything, and prints what is committed, line by line; at the end, how many
//!   writes the database made.
//! - `store_writer FILE retry` does the same appends, each as often as it takes.
//!
//! With `FAULT=KIND:N`, something happens at the N-th write of the database: `kill` ends the process before it, `torn`
//! after half of it, and `full` lets this write and the next ones fail, as a disk without room does, until the program
//! has seen an error.

#[cfg_attr(not(target_os = "linux"), path = "no_faults.rs")]
mod faults;

use std::{io::Write as _, path::Path, time::Duration};

use anyhow::{Context as _, bail, ensure};
use goose_extension::{Message, ToolOutput};
use goose_session::{NewSession, SearchQuery, Session, SessionStore, Step, StoreError};

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
        _ => bail!("Use it so: store_writer FILE append COUNT | script | retry"),
    }
}

/// Tells the parent process. Written at once: the next moment may not come.
fn say(line: impl std::fmt::Display) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn said(number: usize) -> Step {
    Step::Message { message: Message::user(format!("step {number}")) }
}

async fn append(file: &Path, count: usize) -> anyhow::Result<()> {
    let session = SessionStore::at(file).create(NewSession::in_folder("/work")).await?;
    say(session.id())?;
    for number in 1..=count {
        say(session.append(&said(number)).await?)?;
    }
    session.sync().await?;
    Ok(())
}

/// The steps of the script, by what is written at once. One is larger than many pages.
fn batches() -> Vec<Vec<Step>> {
    let large = Step::ToolResult { id: "1".into(), output: ToolOutput::text("x".repeat(30_000)) };
    let ended = Step::ReplyEnded { outcome: "done".into() };
    vec![vec![said(1)], vec![said(2)], vec![large], vec![said(4), said(5), said(6)], vec![ended]]
}

async fn script(file: &Path) -> anyhow::Result<()> {
    let store = SessionStore::open(file).await?;
    let session = store.create(NewSession::in_folder("/work")).await?;
    for batch in batches() {
        say(format!("steps {}", session.append_all(&batch).await?))?;
    }
    session.sync().await?;
    store.rename(session.id(), "renamed").await?;
    say("renamed")?;
    let fork = store.fork(session.id(), None).await?;
    say(format!("forked {}", fork.id()))?;
    store.remove(fork.id()).await?;
    say("removed")?;
    while store.index_newest(Duration::from_secs(1)).await? > 0 {}
    let results = store.search(&SearchQuery::new("step", 1)).await?;
    ensure!(!results.found.is_empty(), "nothing is found");
    store.close().await?;
    say(format!("writes {}", faults::writes()))
}

/// Everything must work when there is room again, in the same process.
async fn retry(file: &Path) -> anyhow::Result<()> {
    let store = SessionStore::at(file);
    let mut errors = Vec::new();
    let session = loop {
        match store.create(NewSession::in_folder("/work")).await {
            Ok(session) => break session,
            Err(error) => errors.push(room_again(error)),
        }
    };
    for batch in batches() {
        append_in_the_end(&session, &batch, &mut errors).await?;
    }
    for error in errors {
        say(format!("error {error}"))?;
    }
    say(format!("writes {}", faults::writes()))
}

async fn append_in_the_end(
    session: &Session,
    batch: &[Step],
    errors: &mut Vec<StoreError>,
) -> anyhow::Result<()> {
    loop {
        match session.append_all(batch).await {
            Ok(last) => return say(format!("steps {last}")),
            Err(error) => errors.push(room_again(error)),
        }
        errors.len().lt(&100).then_some(()).context("it never works again")?;
    }
}

fn room_again(error: StoreError) -> StoreError {
    faults::disarm();
    error
}
