//! Sessions that are not the user's own, stores of earlier versions, and steps of later ones.

use anyhow::Context as _;
use goose_session::{
    ListOptions, NewSession, Session, SessionId, SessionKind, Step, StoreError, export, import,
};
use sqlx::Executor as _;

use super::support::{TestStore, raw, search_all, user};

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

async fn delegate(test: &TestStore, parent: &Session, words: &str) -> anyhow::Result<Session> {
    let new =
        NewSession::in_folder("/work").delegated_by(parent.id().clone()).with_agent("goose-agent/coder");
    let session = test.store.create(new).await?;
    session.append(&user(words)).await?;
    Ok(session)
}

async fn listed(test: &TestStore, options: ListOptions) -> anyhow::Result<Vec<SessionId>> {
    Ok(test.store.list(options).await?.into_iter().map(|session| session.id).collect())
}

#[tokio::test]
async fn delegate_session_is_found_only_by_id() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let parent = test.session(&["count the walrus"]).await?;
    let child = delegate(&test, &parent, "the walrus of the delegate").await?;
    let unknown = NewSession::in_folder("/work").with_kind(SessionKind::Other("from_the_future".into()));
    let unknown = test.store.create(unknown).await?;
    unknown.append(&user("walrus")).await?;

    assert_eq!(listed(&test, ListOptions::default()).await?, [parent.id().clone()]);
    assert_eq!(listed(&test, ListOptions::newest(9).in_folder("/work")).await?, [parent.id().clone()]);
    assert_eq!(listed(&test, ListOptions::default().all_kinds()).await?.len(), 3);
    assert_eq!(test.store.latest(None).await?.context("no session")?.id, *parent.id());
    let found = search_all(&test.store, "walrus", 10).await?;
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [parent.id()]);
    let by_name = test.store.find("the walrus of the delegate").await;
    assert!(matches!(by_name, Err(StoreError::NoSuchSession(_))), "{by_name:?}");

    let opened = test.another_store().open_session(child.id()).await?;
    assert_eq!(opened.summary.kind, SessionKind::Delegate);
    assert_eq!(opened.summary.parent.as_ref(), Some(parent.id()));
    assert_eq!(opened.summary.agent.as_deref(), Some("goose-agent/coder"));
    assert_eq!(opened.session.append(&user("more")).await?, 2);
    assert_eq!(test.store.find(child.id().as_str()).await?.id, *child.id());
    assert_eq!(test.store.summary(unknown.id()).await?.kind.as_str(), "from_the_future");
    Ok(())
}

/// The user copies a session to work with it.
#[tokio::test]
async fn copy_of_a_delegate_session_belongs_to_the_user() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let parent = test.session(&["hello"]).await?;
    let child = delegate(&test, &parent, "task").await?;
    let copy = test.store.fork(child.id(), None).await?;
    let copy = test.store.summary(copy.id()).await?;
    assert_eq!((copy.kind, copy.parent), (SessionKind::User, None));
    assert_eq!(copy.agent.as_deref(), Some("goose-agent/coder"));
    Ok(())
}

#[tokio::test]
async fn delegates_are_removed_with_their_parent() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let parent = test.session(&["hello"]).await?;
    let child = delegate(&test, &parent, "task").await?;
    let grandchild = delegate(&test, &child, "part of the task").await?;
    let copy = test.store.fork(child.id(), None).await?;
    // An import names a parent in another store, which may have the same id.
    let text = export::json(&test.store, child.id()).await?;
    let imported = import::json(&test.store, text.as_bytes()).await?;
    assert_eq!(test.store.summary(&imported).await?.parent.as_ref(), Some(parent.id()));

    test.store.remove(parent.id()).await?;

    let mut left = listed(&test, ListOptions::default().all_kinds()).await?;
    left.sort();
    let mut expected = vec![copy.id().clone(), imported];
    expected.sort();
    assert_eq!(left, expected);
    let steps = test.store.steps(grandchild.id()).await;
    assert!(matches!(steps, Err(StoreError::NoSuchSession(_))), "{steps:?}");
    Ok(())
}

#[tokio::test]
async fn store_of_the_first_version_is_migrated() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    std::fs::create_dir_all(test.file().parent().context("no folder")?)?;
    let mut old = raw(&test.file()).await?;
    for script in FIRST_VERSION {
        old.execute(script).await?;
    }
    old.execute(OLD_SESSION).await?;
    drop(old);

    let latest = test.store.latest(None).await?.context("no session")?;
    assert_eq!((latest.name(), latest.kind.as_str(), &latest.parent), ("old words", "user", &None));
    let opened = test.store.open_session(&latest.id).await?;
    assert_eq!(opened.steps.iter().map(|stored| &stored.step).collect::<Vec<_>>(), [&user("old words")]);
    assert_eq!(opened.session.append(&user("new words")).await?, 2);
    assert_eq!(search_all(&test.store, "words", 10).await?.len(), 2);
    let new = test.session(&["a new one"]).await?;
    assert_eq!(listed(&test, ListOptions::default()).await?, [new.id().clone(), latest.id]);
    Ok(())
}

/// A newer goose may export steps that this version does not know.
#[tokio::test]
async fn import_leaves_out_unknown_steps() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["one", "two"]).await?;
    let text = export::json(&test.store, session.id()).await?;
    let mut document: serde_json::Value = serde_json::from_str(&text)?;
    document["steps"][0]["step"] = serde_json::json!({"step": "from_the_future", "x": 1});
    document["session"]["kind"] = "from_the_future".into();
    let imported = import::json(&test.store, document.to_string().as_bytes()).await?;
    let opened = test.store.open_session(&imported).await?;
    let steps: Vec<Step> = opened.steps.into_iter().map(|stored| stored.step).collect();
    assert_eq!(steps, [user("two")]);
    assert_eq!(opened.summary.kind, SessionKind::Other("from_the_future".into()));

    document["steps"][1]["step"] = serde_json::json!({"step": "from_the_future"});
    let error = import::json(&test.store, document.to_string().as_bytes()).await.err().context("imported")?;
    assert!(matches!(error, StoreError::NotImportable { .. }), "{error}");
    Ok(())
}
