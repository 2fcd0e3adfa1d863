//! Readers and the writer do not wait for each other.

use std::time::Duration;

use anyhow::Context as _;
use goose_extension::Message;

use super::*;
use crate::{ListOptions, NewSession, SearchQuery, Session, SessionStore, Step, export};

/// Time limit that is reached only if readers and the writer wait for each other.
const DEADLOCK: Duration = Duration::from_secs(20);

const STEPS: &str = "SELECT seq FROM steps ORDER BY seq";

async fn in_time<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<T> {
    tokio::time::timeout(DEADLOCK, work).await.context("deadlock")?.map_err(Into::into)
}

fn said(text: &str) -> Step {
    Step::Message { message: Message::user(text) }
}

async fn store_with_session(folder: &Path) -> anyhow::Result<(SessionStore, Session)> {
    let store = SessionStore::at(folder.join("goose.db"));
    let session = store.create(NewSession::in_folder("/work")).await?;
    session.append_all(&[said("one"), said("two")]).await?;
    Ok((store, session))
}

#[tokio::test]
async fn open_read_does_not_block_appends() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, session) = store_with_session(folder.path()).await?;
    let mut lease = store.database().read().await?;
    let mut rows = lease.stream(Statement::new(STEPS));
    let first = in_time(rows.try_next()).await?.context("the first step")?;
    assert_eq!(first.integer("seq")?, 1);

    assert_eq!(in_time(session.append(&said("three"))).await?, 3);

    // The read still sees the state at its beginning.
    assert_eq!(in_time(rows.try_next()).await?.context("the second step")?.integer("seq")?, 2);
    assert!(in_time(rows.try_next()).await?.is_none());
    drop(rows);
    lease.give_back();
    assert_eq!(store.steps(session.id()).await?.steps.len(), 3);
    Ok(())
}

#[tokio::test]
async fn open_write_does_not_block_readers() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, session) = store_with_session(folder.path()).await?;
    assert_eq!(store.search(&SearchQuery::new("two", 5)).await?.found.len(), 1);
    let mut lease = store.database().begin().await?;
    lease.run("UPDATE sessions SET given_name = 'another name'").await?;
    let append = {
        let session = session.clone();
        tokio::spawn(async move { session.append(&said("three")).await })
    };

    assert_eq!(in_time(store.list(ListOptions::default())).await?[0].name(), "one");
    assert_eq!(in_time(store.open_session(session.id())).await?.steps.len(), 2);
    assert_eq!(in_time(store.search(&SearchQuery::new("two", 5))).await?.found.len(), 1);
    assert!(in_time(export::json(&store, session.id())).await?.contains("two"));
    assert!(!append.is_finished());

    lease.commit().await?;
    assert_eq!(in_time(append).await??, 3);
    assert_eq!(store.summary(session.id()).await?.name(), "another name");
    Ok(())
}

/// A second connection costs a thread, and time at the start.
#[tokio::test]
async fn sequential_work_uses_one_connection() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, session) = store_with_session(folder.path()).await?;
    store.list(ListOptions::default()).await?;
    store.open_session(session.id()).await?;
    session.append(&said("three")).await?;
    session.sync().await?;
    store.search(&SearchQuery::new("three", 5)).await?;
    assert_eq!(store.database().idle_connections(), 1);
    Ok(())
}
