//! Sessions: what is appended is there, in order, counted, named, found, copied and removed.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use goose_config::Mode;
use goose_extension::{Message, MessageContent, RichRenderable, Role, ToolOutput};
use goose_providers::Usage;
use goose_session::{
    ListOptions, NewSession, Session, SessionId, SessionStore, Step, StoreError, export, import,
};
use serde_json::json;

use super::support::{Shelf, search_all, user};

fn ended() -> Step {
    Step::ReplyEnded { outcome: "done".to_owned() }
}

/// One of each kind.
fn one_of_each() -> Vec<Step> {
    let call = MessageContent::ToolCall {
        id: "1".to_owned(),
        name: "developer__shell".to_owned(),
        arguments: json!({"command": "ls"}),
        opaque: None,
    };
    let usage = Usage { input: 100, output: 20, cached_input: 30, cache_write: 4 };
    vec![
        user("list the files"),
        Step::Message { message: Message::new(Role::Assistant, [MessageContent::text("Well:"), call]) },
        Step::Cost { provider: "openai".into(), model: "gpt-4o".into(), usage, dollars: Some(0.25) },
        Step::ToolResult { id: "1".into(), output: ToolOutput::text("a.rs\n```\nb.rs") },
        Step::Compacted { messages: vec![Message::user("summary")] },
        Step::Interrupted { reason: "cancelled".into() },
        Step::Message { message: Message::assistant("Two files.") },
        Step::Cost { provider: "openai".into(), model: "gpt-4o".into(), usage, dollars: None },
        Step::Log { content: "ran ls".into(), call: Some("1".into()) },
        Step::Log {
            content: RichRenderable::Diff { path: "a.rs".into(), unified: "-a\n+b".into() },
            call: None,
        },
        Step::ModeChanged {
            permission: Some(Mode::Approve),
            agent: Some("goose-agent/assistant".into()),
            routed: true,
        },
        Step::NestedCall {
            parent: "1".into(),
            id: "1.1".into(),
            name: "developer__read".into(),
            arguments: json!({"path": "zebra.txt"}),
        },
        Step::NestedResult { parent: "1".into(), id: "1.1".into(), output: ToolOutput::error("no giraffe") },
        ended(),
    ]
}

fn only_steps(stored: Vec<goose_session::StoredStep>) -> Vec<Step> {
    stored.into_iter().map(|stored| stored.step).collect()
}

#[tokio::test]
async fn what_is_appended_is_there_in_order() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work")).await?;
    let steps = one_of_each();
    assert_eq!(session.append(&steps[0]).await?, 1);
    assert_eq!(session.append_all(&steps[1..]).await?, steps.len() as u64);
    assert_eq!(session.append_all(&[]).await?, steps.len() as u64);

    let opened = shelf.another().open_session(session.id()).await?;

    let numbers: Vec<u64> = opened.steps.iter().map(|stored| stored.seq).collect();
    assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>());
    assert_eq!(only_steps(opened.steps), steps);
    assert_eq!(opened.skipped, []);
    assert!(!opened.unfinished);
    assert_eq!(opened.session.append(&user("more")).await?, steps.len() as u64 + 1);
    Ok(())
}

#[tokio::test]
async fn a_summary_is_kept_up_to_date() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work")).await?;
    session.append_all(&one_of_each()).await?;

    let summary = shelf.store.summary(session.id()).await?;

    assert_eq!(summary.name(), "list the files");
    assert_eq!((summary.steps, summary.messages), (14, 3));
    assert_eq!(summary.usage, Usage { input: 200, output: 40, cached_input: 60, cache_write: 8 });
    assert!((summary.dollars - 0.25).abs() < 1e-9);
    assert_eq!(summary.working_dir, Path::new("/work"));
    assert!(summary.updated_at >= summary.created_at);
    Ok(())
}

#[tokio::test]
async fn an_empty_session_leaves_nothing() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let empty = shelf.store.create(NewSession::in_folder("/work").named("nothing")).await?;
    let used = shelf.session(&["hello"]).await?;
    assert_ne!(empty.id(), used.id());
    let listed = shelf.store.list(ListOptions::default()).await?;
    assert_eq!(listed.iter().map(|session| &session.id).collect::<Vec<_>>(), [used.id()]);
    let missing = shelf.store.open_session(empty.id()).await.err().context("it is not there")?;
    assert!(matches!(missing, StoreError::NoSuchSession(_)), "{missing}");
    assert!(missing.hint().is_some());
    Ok(())
}

#[tokio::test]
async fn an_unsaved_session_counts_and_keeps_nothing() -> anyhow::Result<()> {
    let session = Session::unsaved();
    assert_eq!(session.append(&user("one")).await?, 1);
    assert_eq!(session.append_all(&[user("two"), ended()]).await?, 3);
    session.sync().await?;
    assert!(!session.is_saved());
    Ok(())
}

#[tokio::test]
async fn sessions_are_listed_newest_first() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let first = shelf.session(&["first"]).await?;
    let second = shelf.store.create(NewSession::in_folder("/elsewhere").named("my name")).await?;
    second.append(&user("second")).await?;
    // Within a millisecond, the newer id is the newer session; so this one is made certainly newer.
    while shelf.store.summary(first.id()).await?.updated_at
        <= shelf.store.summary(second.id()).await?.updated_at
    {
        first.append(&ended()).await?;
    }
    let names = |options| async { names(&shelf.store, options).await };
    assert_eq!(names(ListOptions::default()).await?, ["first", "my name"]);
    assert_eq!(names(ListOptions::newest(1)).await?, ["first"]);
    assert_eq!(names(ListOptions::default().in_folder("/elsewhere")).await?, ["my name"]);
    let latest = shelf.store.latest(None).await?.context("there is one")?;
    assert_eq!(&latest.id, first.id());
    let there = shelf.store.latest(Some(Path::new("/elsewhere"))).await?.context("there is one")?;
    assert_eq!(&there.id, second.id());
    assert_eq!(shelf.store.latest(Some(Path::new("/nowhere"))).await?, None);
    Ok(())
}

async fn names(store: &SessionStore, options: ListOptions) -> anyhow::Result<Vec<String>> {
    Ok(store.list(options).await?.iter().map(|session| session.name().to_owned()).collect())
}

#[tokio::test]
async fn a_session_is_found_by_id_or_name() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let one = shelf.session(&["fix the bug"]).await?;
    let two = shelf.session(&["fix the bug"]).await?;
    assert_eq!(&shelf.store.find(one.id().as_str()).await?.id, one.id());
    let ambiguous = shelf.store.find("fix the bug").await.err().context("there are two")?;
    let text = ambiguous.to_string();
    assert!(text.contains(one.id().as_str()) && text.contains(two.id().as_str()), "{text}");

    shelf.store.rename(two.id(), "  another\nname ").await?;
    assert_eq!(&shelf.store.find("another name").await?.id, two.id());
    assert_eq!(&shelf.store.find("fix the bug").await?.id, one.id());
    two.append(&user("later words")).await?;
    assert_eq!(shelf.store.summary(two.id()).await?.name(), "another name");

    shelf.store.rename(two.id(), "").await?;
    assert_eq!(shelf.store.summary(two.id()).await?.name(), "fix the bug");
    assert!(matches!(shelf.store.find("nobody").await, Err(StoreError::NoSuchSession(_))));
    let nobody: SessionId = "20200101_1".parse()?;
    assert!(matches!(shelf.store.rename(&nobody, "x").await, Err(StoreError::NoSuchSession(_))));
    Ok(())
}

#[tokio::test]
async fn a_reply_without_an_end_is_noticed() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["hello"]).await?;
    let unfinished = || async { anyhow::Ok(shelf.store.open_session(session.id()).await?.unfinished) };
    assert!(unfinished().await?);
    session.append(&Step::Interrupted { reason: "goose was ended".into() }).await?;
    assert!(!unfinished().await?);
    session.append(&Step::Compacted { messages: vec![] }).await?;
    assert!(!unfinished().await?);
    session.append(&user("again")).await?;
    session.append(&Step::Compacted { messages: vec![] }).await?;
    assert!(unfinished().await?);
    session.append(&ended()).await?;
    assert!(!unfinished().await?);
    session.append(&Step::ModeChanged { permission: Some(Mode::Chat), agent: None, routed: false }).await?;
    session.append(&Step::Log { content: "a tool has ended late".into(), call: None }).await?;
    assert!(!unfinished().await?);
    Ok(())
}

#[tokio::test]
async fn a_fork_goes_its_own_way() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work").named("original")).await?;
    let steps = one_of_each();
    session.append_all(&steps).await?;

    let whole = shelf.store.fork(session.id(), None).await?;
    let start = shelf.store.fork(session.id(), Some(3)).await?;
    assert_eq!(start.append(&user("instead")).await?, 4);

    let (all, some) =
        (shelf.store.open_session(whole.id()).await?, shelf.store.open_session(start.id()).await?);
    assert_eq!(only_steps(all.steps), steps);
    assert_eq!(only_steps(some.steps), [&steps[..3], &[user("instead")]].concat());
    assert_eq!((some.summary.steps, some.summary.messages, some.summary.usage.input), (4, 3, 100));
    assert_eq!(some.summary.origin, Some(format!("fork:{}@3", session.id())));
    assert_eq!(all.summary.usage, shelf.store.summary(session.id()).await?.usage);
    assert_eq!(shelf.store.summary(session.id()).await?.steps, 14);
    let nobody: SessionId = "20200101_1".parse()?;
    assert!(matches!(shelf.store.fork(&nobody, None).await, Err(StoreError::NoSuchSession(_))));
    Ok(())
}

#[tokio::test]
async fn what_is_removed_is_gone_everywhere() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let kept = shelf.session(&["the kept walrus"]).await?;
    let gone = shelf.session(&["the removed walrus"]).await?;
    assert_eq!(search_all(&shelf.store, "walrus", 10).await?.len(), 2);
    shelf.another().remove(gone.id()).await?;
    let found = search_all(&shelf.store, "walrus", 10).await?;
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [kept.id()]);
    assert!(matches!(shelf.store.steps(gone.id()).await, Err(StoreError::NoSuchSession(_))));
    assert!(matches!(shelf.store.remove(gone.id()).await, Err(StoreError::NoSuchSession(_))));
    // Whoever still writes to it learns of it.
    let late = gone.append(&user("too late")).await.err().context("it is gone")?;
    assert!(matches!(late, StoreError::NoSuchSession(_)), "{late}");
    Ok(())
}

/// Neither in free pages nor in the log; also while others have the store open. Of the index, which is kept in pages that
/// hold hundreds of words, the word stays that a page began with.
#[tokio::test]
async fn what_is_removed_leaves_nothing_in_the_files() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let kept = shelf.session(&["the kept walrus"]).await?;
    let words: String = (0..20_000).map(|number| format!("qzx{number} ")).collect();
    let gone = shelf.session(&["Qzxtitle of it", &words]).await?;
    shelf.session(&["another walrus"]).await?;
    assert_eq!(search_all(&shelf.store, "qzx100", 10).await?.len(), 1);
    assert!(traces(&shelf.file(), b"qzx").len() > 20_000);
    assert!(
        !traces(&shelf.file(), b"qzx100 qzx101").is_empty()
            && !traces(&shelf.file(), b"qzxtitle of").is_empty()
    );
    shelf.another().remove(gone.id()).await?;
    for text in [b"qzxtitle".as_slice(), b"qzx100 qzx101", b"9 qzx"] {
        assert_eq!(traces(&shelf.file(), text), Vec::<String>::new());
    }
    let words = traces(&shelf.file(), b"qzx");
    assert!(words.len() < 10, "{words:?}");
    assert_eq!(search_all(&shelf.store, "walrus", 10).await?.len(), 2);
    assert_eq!(shelf.store.steps(kept.id()).await?.steps.len(), 1);
    Ok(())
}

/// Returns the occurrences of a word in the files of a store, in lower case or capitalized, with their context.
fn traces(store: &Path, word: &[u8]) -> Vec<String> {
    const AROUND: usize = 12;
    let mut found = Vec::new();
    for ending in ["", "-wal"] {
        let bytes = std::fs::read(format!("{}{ending}", store.display())).unwrap_or_default();
        let is_word =
            |at: &usize| bytes[*at..].iter().zip(word).all(|(one, other)| one.eq_ignore_ascii_case(other));
        for at in (0..bytes.len().saturating_sub(word.len())).filter(is_word) {
            let around = &bytes[at.saturating_sub(AROUND)..(at + AROUND).min(bytes.len())];
            found.push(format!("{ending} at {at}: {:?}", String::from_utf8_lossy(around)));
        }
    }
    found
}

#[tokio::test]
async fn words_are_found_in_messages_and_results() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work")).await?;
    session.append_all(&one_of_each()).await?;
    session.sync().await?;
    let long = format!("{} needle {}", "hay ".repeat(500), "hay ".repeat(500));
    session.append(&user(&long)).await?;
    let other = shelf.session(&["Authentifizierung für Müller"]).await?;

    // The shorter text is the better one.
    let found = search_all(&shelf.store, "FILES", 10).await?;
    assert_eq!(found.iter().map(|found| found.seq).collect::<Vec<_>>(), [7, 1], "{found:?}");
    let results = search_all(&shelf.store, "b.rs", 10).await?;
    assert_eq!(
        results.iter().map(|found| (found.seq, found.kind.as_str())).collect::<Vec<_>>(),
        [(4, "tool_result")]
    );
    for (word, seq, kind) in
        [("ran", 9, "log"), ("zebra", 12, "nested_call"), ("giraffe", 13, "nested_result")]
    {
        let found = search_all(&shelf.store, word, 10).await?;
        let found: Vec<_> = found.iter().map(|found| (found.seq, found.kind.as_str())).collect();
        assert_eq!(found, [(seq, kind)]);
    }
    // Not yet indexed when the search began.
    let needle = search_all(&shelf.store, "needle", 10).await?;
    assert_eq!(needle.len(), 1);
    assert!(needle[0].snippet.contains("needle") && needle[0].snippet.len() < 200, "{}", needle[0].snippet);
    // A beginning is enough, and accents do not matter.
    let accents = search_all(&shelf.store, "authenti muller", 10).await?;
    assert_eq!(accents.iter().map(|found| &found.session).collect::<Vec<_>>(), [other.id()]);
    assert_eq!(search_all(&shelf.store, "\"* OR NEAR(", 10).await?, []);
    assert_eq!(search_all(&shelf.store, "hay", 1).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_export_comes_back_as_it_was() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work").named("mine")).await?;
    session.append_all(&one_of_each()).await?;
    let before = shelf.store.open_session(session.id()).await?;
    let text = export::json(&shelf.store, session.id()).await?;

    let elsewhere = Shelf::new()?;
    let id = import::json(&elsewhere.store, &text).await?;
    let after = elsewhere.store.open_session(&id).await?;
    assert_eq!(&id, session.id());
    assert_eq!(after.steps, before.steps);
    let mut summary = after.summary;
    assert_eq!(summary.origin.take(), Some(format!("import:{id}")));
    assert_eq!(summary, before.summary);

    // The id is taken the second time, and the next new session's is not the imported one's.
    let again = import::json(&elsewhere.store, &text).await?;
    assert_ne!(again, id);
    let new = elsewhere.session(&["hi"]).await?;
    assert!(new.id() != &again && new.id() != &id);

    let newer = text.replace("\"version\": 1", "\"version\": 2");
    for broken in ["", "{}", "[1]", &newer] {
        let error = import::json(&elsewhere.store, broken).await.err().context("this is no export")?;
        assert!(matches!(error, StoreError::NotImportable { .. }), "{error}");
    }
    Ok(())
}

/// The number in the id of an import is not believed without limit: others have to come after it.
#[tokio::test]
async fn an_imported_id_leaves_room_for_others() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["hi"]).await?;
    let text = export::json(&shelf.store, session.id()).await?;
    let (day, _) = session.id().as_str().split_once('_').context("a day and a number")?;
    let highest = format!("{day}_{}", i64::MAX);
    let imported = import::json(&shelf.store, &text.replace(session.id().as_str(), &highest)).await?;
    assert_eq!(imported.as_str(), highest);
    for _ in 0..2 {
        let new = shelf.session(&["more"]).await?;
        assert_eq!(shelf.store.open_session(new.id()).await?.steps.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_session_can_be_read_as_markdown() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.store.create(NewSession::in_folder("/work").named("mine")).await?;
    session.append_all(&one_of_each()).await?;
    let page = export::markdown(&shelf.store, session.id()).await?;
    let (head, body) = page.split_once("\n## ").context("somebody speaks")?;
    assert!(head.starts_with("# mine\n") && head.contains("`/work`"), "{head}");
    insta::assert_snapshot!(format!("## {body}"), @r#"
    ## You

    list the files

    ## goose

    Well:

    **developer__shell**

    ```json
    {
      "command": "ls"
    }
    ```

    **result**

    ````
    a.rs
    ```
    b.rs
    ````

    > The conversation so far was shortened for the model.

    > Interrupted: cancelled

    Two files.

    > ran ls

    ```diff
    -a
    +b
    ```

    > Permission mode: approve
    > Agent: goose-agent/assistant

    **developer__read** (nested)

    ```json
    {
      "path": "zebra.txt"
    }
    ```

    **failed** (nested)

    ```
    no giraffe
    ```
    "#);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn the_store_is_for_the_person_alone() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let shelf = Shelf::new()?;
    shelf.session(&["secret"]).await?;
    let mode = |path: &Path| anyhow::Ok(path.metadata()?.permissions().mode() & 0o777);
    assert_eq!(mode(shelf.file().parent().context("it is in a folder")?)?, 0o700);
    assert_eq!(mode(&shelf.file())?, 0o600);
    assert_eq!(mode(&shelf.file().with_extension("db-wal"))?, 0o600);
    std::fs::set_permissions(shelf.file(), std::fs::Permissions::from_mode(0o644))?;
    shelf.another().latest(None).await?;
    assert_eq!(mode(&shelf.file())?, 0o600);
    Ok(())
}

/// A future that is dropped does not leave a hole or a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_nobody_waits_for_is_whole() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["first"]).await?;
    for number in 0..200_u64 {
        let step = user(&format!("dropped {number}"));
        let append = session.append(&step);
        let _ = tokio::time::timeout(Duration::from_micros(number), append).await;
    }
    let last = session.append(&ended()).await?;
    let steps = shelf.another().steps(session.id()).await?.steps;
    assert_eq!(steps.len() as u64, last);
    assert_eq!(steps.last().map(|stored| &stored.step), Some(&ended()));
    Ok(())
}

/// Everything can be done from a task that moves between threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clones_append_to_one_log_from_many_tasks() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["first"]).await?;
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let (session, store) = (session.clone(), shelf.store.clone());
            tokio::spawn(async move {
                session.append(&user(&format!("from task {number}"))).await?;
                session.sync().await?;
                search_all(&store, "task", 3).await?;
                store.list(ListOptions::default()).await?;
                store.find("first").await?;
                store.open_session(session.id()).await.map(drop)
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    assert_eq!(shelf.store.steps(session.id()).await?.steps.len(), 51);
    Ok(())
}

/// Otherwise every new process would have to read a long log first.
#[tokio::test]
async fn a_long_log_is_copied_into_the_file_at_the_end_of_a_reply() -> anyhow::Result<()> {
    let shelf = Shelf::new()?;
    let session = shelf.session(&["hello"]).await?;
    let size = || anyhow::Ok(shelf.file().metadata()?.len());
    session.sync().await?;
    let small = size()?;
    assert!(small < 100_000, "a short log is only synced: {small}");
    let large = user(&"x".repeat(4000));
    session.append_all(&vec![large; 600]).await?;
    assert_eq!(size()?, small);
    session.sync().await?;
    assert!(size()? > 2_000_000, "{}", size()?);
    Ok(())
}
