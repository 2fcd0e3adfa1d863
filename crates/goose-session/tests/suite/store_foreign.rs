//! Sessions of other programs can be resumed after an import. The fixtures are files that the programs wrote,
//! shortened.

use std::path::Path;

use anyhow::{Context as _, ensure};
use goose_session::{SessionStore, StoreError, import};

use super::{store_legacy::outline, support::TestStore};

const CLAUDE: &str = include_str!("fixtures/claude_code_2_1_session.jsonl");
const CODEX: &str = include_str!("fixtures/codex_0_169_rollout.jsonl");
const GOOSE: &str = include_str!("fixtures/goose_1_52_export.json");

/// Imports a file with this text. Returns the origin and the name of the session, its folder and its steps.
async fn imported(store: &SessionStore, file: &Path, text: &str) -> anyhow::Result<(String, Vec<String>)> {
    std::fs::write(file, text)?;
    let imported = import::from_path(store, file).await?;
    let [id] = imported.sessions.as_slice() else { anyhow::bail!("{imported:?}") };
    let opened = store.open_session(id).await?;
    let summary = opened.summary;
    let about = format!(
        "{} {} {}",
        summary.origin.as_deref().unwrap_or_default(),
        summary.name(),
        summary.working_dir.display()
    );
    Ok((about, outline(&opened.steps)))
}

#[tokio::test]
async fn sessions_of_claude_code_and_codex_are_imported_once() -> anyhow::Result<()> {
    let (test, folder) = (TestStore::new()?, tempfile::tempdir()?);
    let file = folder.path().join("session.jsonl");
    let (about, steps) = imported(&test.store, &file, CLAUDE).await?;
    assert_eq!(
        about,
        "claude-code:7f71463f-35f8-4edd-92ff-48cb48b1a2e1 Say hi using the shell. /home/ada/proj"
    );
    assert_eq!(
        steps,
        [
            "user: Say hi using the shell.",
            "model: toolu_1=Bash{\"command\":\"echo hi 1\"}",
            "toolu_1 gave: hi 1",
            "model: toolu_2=Bash{\"command\":\"echo hi 2\"}",
            "toolu_2 gave: hi 2",
            "model: done",
            "reply_ended",
        ]
    );
    let again = import::from_path(&test.store, &file).await?;
    assert_eq!((again.sessions.len(), again.already_here), (0, 1));

    let (about, steps) = imported(&test.store, &file, CODEX).await?;
    assert_eq!(about, "codex:01a1f101-9498-70a2-b7c1-4d3ab035ff85 Say hi using the shell. /home/ada/proj");
    let wrapped = "Chunk ID: d87bbd|Wall time: 0.0000 seconds|Process exited with code 0|Original token count: 2|Output:|hi 1|";
    assert_eq!(steps.len(), 7, "{steps:#?}");
    assert_eq!(steps[1], "model: call_1=exec_command{\"cmd\":\"echo hi 1\"}");
    assert_eq!(steps[2], format!("call_1 gave: {wrapped}"));
    assert_eq!(steps[5], "model: done");
    Ok(())
}

#[tokio::test]
async fn export_of_goose_1_52_is_imported() -> anyhow::Result<()> {
    let (test, folder) = (TestStore::new()?, tempfile::tempdir()?);
    // Named as a person would name it: the text tells the format.
    let (about, steps) = imported(&test.store, &folder.path().join("talk"), GOOSE).await?;
    assert_eq!(about, "legacy:20261118_1 Say hi /home/ada/proj");
    assert_eq!(
        steps[..2],
        ["user: Say hi using the shell.", "model: call_1=developer__shell{\"command\":\"echo hi 1\"}"]
    );
    ensure!(!steps.iter().any(|step| step.contains("turn-context")), "{steps:#?}");
    let on_one_line: serde_json::Value = serde_json::from_str(GOOSE)?;
    let other = TestStore::new()?;
    let (_, same) =
        imported(&other.store, &folder.path().join("talk.json"), &on_one_line.to_string()).await?;
    assert_eq!(same, steps);
    Ok(())
}

/// Blocks of one answer are on lines of their own; subagents and added messages are left out, broken lines counted.
#[tokio::test]
async fn lines_that_are_no_message_are_left_out() -> anyhow::Result<()> {
    let (test, folder) = (TestStore::new()?, tempfile::tempdir()?);
    let file = folder.path().join("session.jsonl");
    let line = |more: &str, message: &str| {
        format!("{{\"sessionId\":\"s\",\"type\":\"user\",\"cwd\":\"/x\",{more}\"message\":{message}}}\n")
    };
    let block = |text: &str| format!("{{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{text}]}}");
    let text = [
        line("\"isMeta\":true,", "{\"role\":\"user\",\"content\":\"Caveat\"}"),
        line(
            "",
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"},{\"type\":\"new\"}]}",
        ),
        line("", &block("{\"type\":\"text\",\"text\":\"I look.\"}"))
            .replace("user\",\"cwd", "assistant\",\"cwd"),
        "{\"sessionId\": \"s\", \"mess\n".to_owned(),
        line("", &block("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\",\"input\":{}}"))
            .replace("user\",\"cwd", "assistant\",\"cwd"),
        line("\"isSidechain\":true,", "{\"role\":\"user\",\"content\":\"Subtask\"}"),
        "{\"type\":\"ai-title\",\"aiTitle\":\"A look\",\"sessionId\":\"s\"}\n".to_owned(),
        "[1]\n".to_owned(),
    ];
    std::fs::write(&file, text.concat())?;
    let imported = import::from_path(&test.store, &file).await?;
    assert_eq!((imported.sessions.len(), imported.skipped_lines), (1, 2));
    let opened = test.store.open_session(&imported.sessions[0]).await?;
    assert_eq!(opened.summary.name(), "A look");
    assert_eq!(outline(&opened.steps), ["user: Look", "model: I look. t=Read{}", "reply_ended"]);
    Ok(())
}

#[tokio::test]
async fn other_text_is_refused() -> anyhow::Result<()> {
    let (test, folder) = (TestStore::new()?, tempfile::tempdir()?);
    let file = folder.path().join("notes.jsonl");
    for (text, reason) in [
        ("", "not a session of goose, Claude Code or Codex"),
        ("{\"format\": \"other\"}", "not a session of goose, Claude Code or Codex"),
        ("{\"id\": \"x\", \"conversation\": []}", "contains no messages"),
        ("{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n", "contains no messages"),
        ("{\"format\": \"goose-session\"", "EOF"),
    ] {
        std::fs::write(&file, text)?;
        let error = import::from_path(&test.store, &file).await.err().context("imported")?;
        ensure!(matches!(error, StoreError::NotImportable { .. }), "{error}");
        ensure!(error.to_string().contains(reason), "{text}: {error}");
    }
    Ok(())
}
