//! Sessions of goose 1.x can be resumed after an import, which does not change their files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use goose_extension::{Message, MessageContent, Role};
use goose_providers::Usage;
use goose_session::{SessionId, Step, StoreError, StoredStep, import};
use serde_json::{Value, json};
use sqlx::{Executor as _, SqliteConnection};

use super::support::{TestStore, raw};

const SESSIONS: &str = include_str!("fixtures/goose_1_52_sessions.sql");

/// Creates the folder of a goose 1.x that is still running: the newest sessions are in its log.
async fn old_folder(folder: &Path) -> anyhow::Result<(PathBuf, SqliteConnection)> {
    let file = folder.join("sessions.db");
    let mut database = raw(&file).await?;
    database.execute("PRAGMA journal_mode = WAL").await?;
    database.execute(SESSIONS).await?;
    Ok((file, database))
}

/// Returns one line for each step.
pub(super) fn outline(steps: &[StoredStep]) -> Vec<String> {
    let outline = |message: &Message| {
        let parts = message.content.iter().map(|part| match part {
            MessageContent::ToolCall { id, name, arguments, .. } => format!("{id}={name}{arguments}"),
            MessageContent::ToolResult { id, .. } => format!("{id}!"),
            other => other.as_text().unwrap_or("?").to_owned(),
        });
        let who = if message.role == Role::User { "user" } else { "model" };
        format!("{who}: {}", parts.collect::<Vec<_>>().join(" "))
    };
    let step = |stored: &StoredStep| match &stored.step {
        Step::Message { message } => outline(message),
        Step::ToolResult { id, output, .. } => {
            format!(
                "{id} {}: {}",
                if output.is_error { "failed" } else { "gave" },
                output.as_text().replace('\n', "|")
            )
        }
        Step::Compacted { messages, .. } => {
            format!("now {:?}", messages.iter().map(outline).collect::<Vec<_>>())
        }
        Step::Cost { model, usage, .. } => format!("{model} {}", usage.total()),
        other => other.kind().to_owned(),
    };
    steps.iter().map(step).collect()
}

#[tokio::test]
async fn sessions_of_goose_1_are_imported_once() -> anyhow::Result<()> {
    let (test, old) = (TestStore::new()?, tempfile::tempdir()?);
    let (file, _running) = old_folder(old.path()).await?;
    let before = std::fs::read(&file)?;

    let imported = import::from_path(&test.store, old.path()).await?;

    let ids: Vec<SessionId> = vec!["20261115_1".parse()?, "20261115_3".parse()?];
    assert_eq!((imported.sessions, imported.failed), (ids.clone(), vec![]));
    let again = import::from_path(&test.store, &file).await?;
    assert_eq!((again.sessions.len(), again.already_here), (0, 2));
    assert_eq!(std::fs::read(&file)?, before);

    let first = test.store.open_session(&ids[0]).await?;
    assert_eq!(first.summary.name(), "my first");
    assert_eq!(first.summary.working_dir, Path::new("/home/me/project"));
    assert_eq!(first.summary.created_at.to_string(), "2026-11-15T08:49:47Z");
    assert_eq!(first.summary.usage, Usage { input: 300, output: 30, ..Usage::default() });
    assert!(!first.unfinished);
    let expected = [
        "user: Say hi using the shell.",
        r#"model: call_1=developer__shell{"command":"echo hi 1"}"#,
        "call_1 gave: hi 1",
        r#"model: call_2=developer__shell{"command":"echo hi 2"}"#,
        "call_2 gave: hi 2",
        "model: done",
        "gpt-4o 330",
        "reply_ended",
    ];
    assert_eq!(outline(&first.steps), expected);
    Ok(())
}

/// The user sees everything; the model continues from the summary.
#[tokio::test]
async fn compacted_session_stays_compacted() -> anyhow::Result<()> {
    let (test, old) = (TestStore::new()?, tempfile::tempdir()?);
    let (file, _running) = old_folder(old.path()).await?;
    import::from_path(&test.store, &file).await?;
    let session = test.store.find("compacted").await?;
    let steps = outline(&test.store.steps(&session.id).await?.steps);
    assert_eq!(steps[0], "user: Run something that fails");
    assert_eq!(steps[2], "call_1 failed: oops||Command exited with code 3");
    let call = r#"call_1=developer__shell{"command":"echo oops; exit 3"}"#;
    let seen = [
        "user: A summary of the talk",
        "model: I go on from the summary.",
        "user: And now?",
        &format!("model: {call}"),
        "user: call_1!",
        "model: done",
    ];
    assert_eq!(steps[steps.len() - 3], format!("now {seen:?}"));
    Ok(())
}

/// An imported session with a taken id gets a new one, and new sessions do not get an imported id.
#[tokio::test]
async fn ids_of_imported_and_new_sessions_do_not_collide() -> anyhow::Result<()> {
    let (test, old) = (TestStore::new()?, tempfile::tempdir()?);
    let (file, _running) = old_folder(old.path()).await?;
    let mine = test.session(&["mine"]).await?;
    let day = mine.id().as_str().split('_').next().context("no day")?.to_owned();
    let rename = format!(
        "UPDATE sessions SET id = replace(id, '20261115', '{day}'); \
         UPDATE messages SET session_id = replace(session_id, '20261115', '{day}')"
    );
    raw(&file).await?.execute(sqlx::AssertSqlSafe(rename)).await?;
    let imported = import::from_path(&test.store, &file).await?.sessions;
    let new = test.session(&["new"]).await?;
    assert_eq!(imported.len(), 2);
    assert!(!imported.contains(mine.id()) && !imported.contains(new.id()), "{imported:?} {new:?}");
    assert_eq!(test.store.steps(mine.id()).await?.steps.len(), 1);
    Ok(())
}

#[tokio::test]
async fn jsonl_files_are_imported() -> anyhow::Result<()> {
    let (test, old) = (TestStore::new()?, tempfile::tempdir()?);
    let lines: [Value; 4] = [
        json!({"working_dir": "/old", "description": "An old talk", "message_count": 3}),
        json!({"role": "user", "created": 1_741_000_000, "content": [{"type": "text", "text": "hi"}]}),
        json!({"role": "assistant", "created": 1_741_000_001, "content": [
            {"type": "toolRequest", "id": "a", "toolCall": {"status": "success",
             "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}},
            {"type": "toolRequest", "id": "b", "toolCall": {"status": "error", "error": "no such tool"}}]}),
        json!({"role": "user", "created": 1_741_000_002, "content": [
            {"type": "toolResponse", "id": "a", "toolResult": {"status": "success",
             "value": [{"type": "text", "text": "x.rs"}]}},
            {"type": "toolResponse", "id": "b",
             "toolResult": {"status": "error", "error": "no such tool"}}]}),
    ];
    let mut text: Vec<String> = lines.iter().map(Value::to_string).collect();
    text.push("{\"role\": \"assis".to_owned());
    std::fs::write(old.path().join("20250303_120000.jsonl"), text.join("\n"))?;
    std::fs::write(old.path().join("empty.jsonl"), "")?;

    let imported = import::from_path(&test.store, old.path()).await?;

    assert_eq!(imported.failed.len(), 1, "{imported:?}");
    let opened = test.store.open_session(&"20250303_120000".parse()?).await?;
    assert_eq!(opened.summary.name(), "An old talk");
    let expected = [
        "user: hi",
        r#"model: a=developer__shell{"command":"ls"} b=unknown{}"#,
        "a gave: x.rs",
        "b failed: no such tool",
        "reply_ended",
    ];
    assert_eq!(outline(&opened.steps), expected);
    Ok(())
}

#[tokio::test]
async fn missing_or_invalid_file_is_reported() -> anyhow::Result<()> {
    let (test, old) = (TestStore::new()?, tempfile::tempdir()?);
    let garbage = old.path().join("sessions.db");
    std::fs::write(&garbage, "garbage".repeat(1000))?;
    for path in [garbage, old.path().join("nowhere.db")] {
        let error = import::from_path(&test.store, &path).await.err().context("imported")?;
        assert!(matches!(error, StoreError::NotImportable { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    Ok(())
}
