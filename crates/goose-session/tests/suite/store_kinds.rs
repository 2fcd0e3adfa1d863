//! Sessions that are not the user's own, stores of earlier versions, and steps of later ones.

use anyhow::Context as _;
use goose_session::{
    ListOptions, NewSession, Session, SessionId, SessionKind, Step, StoreError, export, import,
};
use sqlx::Executor as _;

use super::support::{Shelf, raw, search_all, user};

/// The tables of the first version. A migration never changes.
const FIRST_VERSION: [&str; 3] = [
    include_str!("../../src/store/migrations/0001_sessions.sql"),
    include_str!("../../src/store/migrations/0001_search_sqlite.sql"),
    "PRAGMA user_version = 1",
];

const OLD_SESSION: &str = r#"INSERT INTO sessions VALUES
    ('20260101_1', NULL, 'old words', '/work', NULL, 1767225600000, 1767225600000, 1, 0, 1, 0, 0, 0, 0, 0.0);
    INSERT INTO steps VALUES ('20260101_1', 1, 1767225600000, 'message',
    '{"step":"message","message":{"role":"user","content":[{"type":"text","text":"old words"}]}}')"#;

async fn delegate(shelf: &Shelf, parent: &Session, words: &str) -> anyhow::Result<Session> {
    let new =
        NewSession::in_folder("/work").delegated_by(parent.id().clone()).with_agent("goose-agent/coder");
    let session = shelf.store.create(new).await?;
    session.append(&user(words)).await?;
    Ok(session)
}

async fn listed(shelf: &Shelf, options: ListOptions) -> anyhow::Result<Vec<SessionId>> {
    Ok(shelf.store.list(options).await?.into_iter().map(|session| session.id).collect())
}

#[tokio::test]
async fn a_delegates_session_is_only_found_by_its_id() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let parent = shelf.session(&["count the walrus"]).await?;
    let child = delegate(&shelf, &parent, "the walrus of the delegate").await?;
    let unknown = NewSession::in_folder("/work").with_kind(SessionKind::Other("from_the_future".into()));
    let unknown = shelf.store.create(unknown).await?;
    unknown.append(&user("walrus")).await?;

    assert_eq!(listed(&shelf, ListOptions::default()).await?, [parent.id().clone()]);
    assert_eq!(listed(&shelf, ListOptions::newest(9).in_folder("/work")).await?, [parent.id().clone()]);
    assert_eq!(listed(&shelf, ListOptions::default().all_kinds()).await?.len(), 3);
    assert_eq!(shelf.store.latest(None).await?.context("the user's")?.id, *parent.id());
    let found = search_all(&shelf.store, "walrus", 10).await?;
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [parent.id()]);
    let by_name = shelf.store.find("the walrus of the delegate").await;
    assert!(matches!(by_name, Err(StoreError::NoSuchSession(_))), "{by_name:?}");

    let opened = shelf.another().open_session(child.id()).await?;
    assert_eq!(opened.summary.kind, SessionKind::Delegate);
    assert_eq!(opened.summary.parent.as_ref(), Some(parent.id()));
    assert_eq!(opened.summary.agent.as_deref(), Some("goose-agent/coder"));
    assert_eq!(opened.session.append(&user("more")).await?, 2);
    assert_eq!(shelf.store.find(child.id().as_str()).await?.id, *child.id());
    assert_eq!(shelf.store.summary(unknown.id()).await?.kind.as_str(), "from_the_future");
    Ok(())
}

/// The copy is made to be worked with.
#[tokio::test]
async fn a_copy_of_a_delegates_session_is_the_users() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let parent = shelf.session(&["hello"]).await?;
    let child = delegate(&shelf, &parent, "task").await?;
    let copy = shelf.store.fork(child.id(), None).await?;
    let copy = shelf.store.summary(copy.id()).await?;
    assert_eq!((copy.kind, copy.parent), (SessionKind::User, None));
    assert_eq!(copy.agent.as_deref(), Some("goose-agent/coder"));
    Ok(())
}

#[tokio::test]
async fn delegates_are_removed_with_their_parent() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let parent = shelf.session(&["hello"]).await?;
    let child = delegate(&shelf, &parent, "task").await?;
    let grandchild = delegate(&shelf, &child, "part of the task").await?;
    let copy = shelf.store.fork(child.id(), None).await?;
    // An import names a parent in another store, which may have had the same id.
    let text = export::json(&shelf.store, child.id()).await?;
    let imported = import::json(&shelf.store, &text).await?;
    assert_eq!(shelf.store.summary(&imported).await?.parent.as_ref(), Some(parent.id()));

    shelf.store.remove(parent.id()).await?;

    let mut left = listed(&shelf, ListOptions::default().all_kinds()).await?;
    left.sort();
    let mut expected = vec![copy.id().clone(), imported];
    expected.sort();
    assert_eq!(left, expected);
    let steps = shelf.store.steps(grandchild.id()).await;
    assert!(matches!(steps, Err(StoreError::NoSuchSession(_))), "{steps:?}");
    Ok(())
}

#[tokio::test]
async fn a_store_of_the_first_version_opens_lists_and_resumes() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    std::fs::create_dir_all(shelf.file().parent().context("it is in a folder")?)?;
    let mut old = raw(&shelf.file()).await?;
    for script in FIRST_VERSION {
        old.execute(script).await?;
    }
    old.execute(OLD_SESSION).await?;
    drop(old);

    let latest = shelf.store.latest(None).await?.context("the old one")?;
    assert_eq!((latest.name(), latest.kind.as_str(), &latest.parent), ("old words", "user", &None));
    let opened = shelf.store.open_session(&latest.id).await?;
    assert_eq!(opened.steps.iter().map(|stored| &stored.step).collect::<Vec<_>>(), [&user("old words")]);
    assert_eq!(opened.session.append(&user("new words")).await?, 2);
    assert_eq!(search_all(&shelf.store, "words", 10).await?.len(), 2);
    let new = shelf.session(&["a new one"]).await?;
    assert_eq!(listed(&shelf, ListOptions::default()).await?, [new.id().clone(), latest.id]);
    Ok(())
}

/// A later goose may export steps that this one does not know.
#[tokio::test]
async fn unknown_steps_of_an_export_are_left_out() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["one", "two"]).await?;
    let text = export::json(&shelf.store, session.id()).await?;
    let mut document: serde_json::Value = serde_json::from_str(&text)?;
    document["steps"][0]["step"] = serde_json::json!({"step": "from_the_future", "x": 1});
    document["session"]["kind"] = "from_the_future".into();
    let imported = import::json(&shelf.store, &document.to_string()).await?;
    let opened = shelf.store.open_session(&imported).await?;
    let steps: Vec<Step> = opened.steps.into_iter().map(|stored| stored.step).collect();
    assert_eq!(steps, [user("two")]);
    assert_eq!(opened.summary.kind, SessionKind::Other("from_the_future".into()));

    document["steps"][1]["step"] = serde_json::json!({"step": "from_the_future"});
    let error = import::json(&shelf.store, &document.to_string()).await.err().context("nothing is left")?;
    assert!(matches!(error, StoreError::NotImportable { .. }), "{error}");
    Ok(())
}
