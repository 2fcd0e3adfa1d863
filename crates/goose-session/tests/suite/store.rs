//! Sessions are stored in order, counted, named, found, copied and removed.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use goose_config::Mode;
use goose_extension::{Message, MessageContent, RichRenderable, Role, ToolOutput};
use goose_providers::Usage;
use goose_session::{ListOptions, NewSession, Session, SessionId, SessionStore, Step, StoreError, ToolEnd};
use serde_json::json;

use super::support::{TestStore, search_all, user};

fn ended() -> Step {
    Step::ReplyEnded { outcome: "done".to_owned() }
}

/// Returns steps of each kind.
pub(crate) fn one_of_each() -> Vec<Step> {
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
        Step::ToolResult { id: "1".into(), output: ToolOutput::text("a.rs\n```\nb.rs"), end: ToolEnd::Ran },
        Step::compacted(vec![Message::user("summary")]),
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
        Step::NestedResult {
            parent: "1".into(),
            id: "1.1".into(),
            output: ToolOutput::error("no giraffe"),
            end: ToolEnd::Ran,
        },
        ended(),
    ]
}

fn only_steps(stored: Vec<goose_session::StoredStep>) -> Vec<Step> {
    stored.into_iter().map(|stored| stored.step).collect()
}

#[tokio::test]
async fn appended_steps_are_stored_in_order() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    let steps = one_of_each();
    assert_eq!(session.append(&steps[0]).await?, 1);
    assert_eq!(session.append_all(&steps[1..]).await?, steps.len() as u64);
    assert_eq!(session.append_all(&[]).await?, steps.len() as u64);

    let opened = test.another_store().open_session(session.id()).await?;

    let numbers: Vec<u64> = opened.steps.iter().map(|stored| stored.seq).collect();
    assert_eq!(numbers, (1..=steps.len() as u64).collect::<Vec<_>>());
    assert_eq!(only_steps(opened.steps), steps);
    assert_eq!(opened.skipped, []);
    assert!(!opened.unfinished);
    assert_eq!(opened.session.append(&user("more")).await?, steps.len() as u64 + 1);
    Ok(())
}

#[tokio::test]
async fn summary_is_updated_with_each_step() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    session.append_all(&one_of_each()).await?;

    let summary = test.store.summary(session.id()).await?;

    assert_eq!(summary.name(), "list the files");
    assert_eq!((summary.steps, summary.messages), (14, 3));
    assert_eq!(summary.usage, Usage { input: 200, output: 40, cached_input: 60, cache_write: 8 });
    assert!((summary.dollars - 0.25).abs() < 1e-9);
    assert_eq!(summary.working_dir, Path::new("/work"));
    assert!(summary.updated_at >= summary.created_at);
    Ok(())
}

#[tokio::test]
async fn empty_session_is_not_stored() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let empty = test.store.create(NewSession::in_folder("/work").named("nothing")).await?;
    let used = test.session(&["hello"]).await?;
    assert_ne!(empty.id(), used.id());
    let listed = test.store.list(ListOptions::default()).await?;
    assert_eq!(listed.iter().map(|session| &session.id).collect::<Vec<_>>(), [used.id()]);
    let missing = test.store.open_session(empty.id()).await.err().context("it exists")?;
    assert!(matches!(missing, StoreError::NoSuchSession(_)), "{missing}");
    assert!(missing.hint().is_some());
    Ok(())
}

#[tokio::test]
async fn unsaved_session_only_counts_steps() -> anyhow::Result<()> {
    let session = Session::unsaved();
    assert_eq!(session.append(&user("one")).await?, 1);
    assert_eq!(session.append_all(&[user("two"), ended()]).await?, 3);
    session.sync().await?;
    assert!(!session.is_saved());
    Ok(())
}

/// The time of a session is in indexes, and is not stored with every step.
#[tokio::test]
async fn a_step_changes_few_pages() -> anyhow::Result<()> {
    /// A page in the log, with its header.
    const PAGE: u64 = 4096 + 24;
    let test = TestStore::new()?;
    let session = test.session(&["first"]).await?;
    let log = test.file().with_extension("db-wal");
    let before = std::fs::metadata(&log)?.len();
    for _ in 0..50 {
        session.append(&ended()).await?;
    }
    let pages = (std::fs::metadata(&log)?.len() - before) / PAGE;
    assert!((50..=4 * 50).contains(&pages), "{pages} pages for 50 steps");
    Ok(())
}

#[tokio::test]
async fn sessions_are_listed_newest_first() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let first = test.session(&["first"]).await?;
    let second = test.store.create(NewSession::in_folder("/elsewhere").named("my name")).await?;
    second.append(&user("second")).await?;
    // Sessions of the same millisecond are ordered by id, so `first` gets steps until it is newer.
    while test.store.summary(first.id()).await?.updated_at
        <= test.store.summary(second.id()).await?.updated_at
    {
        first.append(&ended()).await?;
    }
    let names = |options| async { names(&test.store, options).await };
    assert_eq!(names(ListOptions::default()).await?, ["first", "my name"]);
    assert_eq!(names(ListOptions::newest(1)).await?, ["first"]);
    assert_eq!(names(ListOptions::default().in_folder("/elsewhere")).await?, ["my name"]);
    let latest = test.store.latest(None).await?.context("no session")?;
    assert_eq!(&latest.id, first.id());
    let there = test.store.latest(Some(Path::new("/elsewhere"))).await?.context("no session")?;
    assert_eq!(&there.id, second.id());
    assert_eq!(test.store.latest(Some(Path::new("/nowhere"))).await?, None);
    Ok(())
}

async fn names(store: &SessionStore, options: ListOptions) -> anyhow::Result<Vec<String>> {
    Ok(store.list(options).await?.iter().map(|session| session.name().to_owned()).collect())
}

#[tokio::test]
async fn session_is_found_by_id_or_name() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let one = test.session(&["fix the bug"]).await?;
    let two = test.session(&["fix the bug"]).await?;
    assert_eq!(&test.store.find(one.id().as_str()).await?.id, one.id());
    let ambiguous = test.store.find("fix the bug").await.err().context("unambiguous")?;
    let text = ambiguous.to_string();
    assert!(text.contains(one.id().as_str()) && text.contains(two.id().as_str()), "{text}");

    test.store.rename(two.id(), "  another\nname ").await?;
    assert_eq!(&test.store.find("another name").await?.id, two.id());
    assert_eq!(&test.store.find("fix the bug").await?.id, one.id());
    two.append(&user("later words")).await?;
    assert_eq!(test.store.summary(two.id()).await?.name(), "another name");

    test.store.rename(two.id(), "").await?;
    assert_eq!(test.store.summary(two.id()).await?.name(), "fix the bug");
    assert!(matches!(test.store.find("unknown name").await, Err(StoreError::NoSuchSession(_))));
    let unknown: SessionId = "20200101_1".parse()?;
    assert!(matches!(test.store.rename(&unknown, "x").await, Err(StoreError::NoSuchSession(_))));
    Ok(())
}

#[tokio::test]
async fn reply_without_end_is_detected() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["hello"]).await?;
    let unfinished = || async { anyhow::Ok(test.store.open_session(session.id()).await?.unfinished) };
    assert!(unfinished().await?);
    session.append(&Step::Interrupted { reason: "goose was ended".into() }).await?;
    assert!(!unfinished().await?);
    session.append(&Step::compacted(vec![])).await?;
    assert!(!unfinished().await?);
    session.append(&user("again")).await?;
    session.append(&Step::compacted(vec![])).await?;
    assert!(unfinished().await?);
    session.append(&ended()).await?;
    assert!(!unfinished().await?);
    session.append(&Step::ModeChanged { permission: Some(Mode::Chat), agent: None, routed: false }).await?;
    session.append(&Step::Log { content: "a tool has ended late".into(), call: None }).await?;
    assert!(!unfinished().await?);
    Ok(())
}

#[tokio::test]
async fn fork_is_independent_of_the_original() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work").named("original")).await?;
    let steps = one_of_each();
    session.append_all(&steps).await?;

    let whole = test.store.fork(session.id(), None).await?;
    let start = test.store.fork(session.id(), Some(3)).await?;
    assert_eq!(start.append(&user("instead")).await?, 4);

    let (all, some) =
        (test.store.open_session(whole.id()).await?, test.store.open_session(start.id()).await?);
    assert_eq!(only_steps(all.steps), steps);
    assert_eq!(only_steps(some.steps), [&steps[..3], &[user("instead")]].concat());
    assert_eq!((some.summary.steps, some.summary.messages, some.summary.usage.input), (4, 3, 100));
    assert_eq!(some.summary.origin, Some(format!("fork:{}@3", session.id())));
    assert_eq!(all.summary.usage, test.store.summary(session.id()).await?.usage);
    assert_eq!(test.store.summary(session.id()).await?.steps, 14);
    let unknown: SessionId = "20200101_1".parse()?;
    assert!(matches!(test.store.fork(&unknown, None).await, Err(StoreError::NoSuchSession(_))));
    Ok(())
}

#[tokio::test]
async fn removed_session_is_not_found_any_more() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let kept = test.session(&["the kept walrus"]).await?;
    let removed = test.session(&["the removed walrus"]).await?;
    assert_eq!(search_all(&test.store, "walrus", 10).await?.len(), 2);
    test.another_store().remove(removed.id()).await?;
    let found = search_all(&test.store, "walrus", 10).await?;
    assert_eq!(found.iter().map(|found| &found.session).collect::<Vec<_>>(), [kept.id()]);
    assert!(matches!(test.store.steps(removed.id()).await, Err(StoreError::NoSuchSession(_))));
    assert!(matches!(test.store.remove(removed.id()).await, Err(StoreError::NoSuchSession(_))));
    // A handle that is still open fails.
    let late = removed.append(&user("too late")).await.err().context("appended")?;
    assert!(matches!(late, StoreError::NoSuchSession(_)), "{late}");
    Ok(())
}

/// The content is neither in free pages nor in the log, even while another store has the file open. In the
/// index, whose pages hold hundreds of words, the first word of a page may stay.
#[tokio::test]
async fn removal_erases_the_content_from_the_files() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let kept = test.session(&["the kept walrus"]).await?;
    let words: String = (0..20_000).map(|number| format!("qzx{number} ")).collect();
    let removed = test.session(&["Qzxtitle of it", &words]).await?;
    test.session(&["another walrus"]).await?;
    assert_eq!(search_all(&test.store, "qzx100", 10).await?.len(), 1);
    assert!(traces(&test.file(), b"qzx").len() > 20_000);
    assert!(
        !traces(&test.file(), b"qzx100 qzx101").is_empty()
            && !traces(&test.file(), b"qzxtitle of").is_empty()
    );
    test.another_store().remove(removed.id()).await?;
    for text in [b"qzxtitle".as_slice(), b"qzx100 qzx101", b"9 qzx"] {
        assert_eq!(traces(&test.file(), text), Vec::<String>::new());
    }
    let words = traces(&test.file(), b"qzx");
    assert!(words.len() < 10, "{words:?}");
    assert_eq!(search_all(&test.store, "walrus", 10).await?.len(), 2);
    assert_eq!(test.store.steps(kept.id()).await?.steps.len(), 1);
    Ok(())
}

/// Returns the occurrences of a word in the files of a store, ignoring case, with their context.
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
async fn search_finds_words_in_messages_and_results() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    session.append_all(&one_of_each()).await?;
    session.sync().await?;
    let long = format!("{} needle {}", "hay ".repeat(500), "hay ".repeat(500));
    session.append(&user(&long)).await?;
    let other = test.session(&["Authentifizierung für Müller"]).await?;

    // The shorter text has the higher score.
    let found = search_all(&test.store, "FILES", 10).await?;
    assert_eq!(found.iter().map(|found| found.seq).collect::<Vec<_>>(), [7, 1], "{found:?}");
    let results = search_all(&test.store, "b.rs", 10).await?;
    assert_eq!(
        results.iter().map(|found| (found.seq, found.kind.as_str())).collect::<Vec<_>>(),
        [(4, "tool_result")]
    );
    for (word, seq, kind) in
        [("ran", 9, "log"), ("zebra", 12, "nested_call"), ("giraffe", 13, "nested_result")]
    {
        let found = search_all(&test.store, word, 10).await?;
        let found: Vec<_> = found.iter().map(|found| (found.seq, found.kind.as_str())).collect();
        assert_eq!(found, [(seq, kind)]);
    }
    // This step is not indexed yet when the search begins.
    let needle = search_all(&test.store, "needle", 10).await?;
    assert_eq!(needle.len(), 1);
    assert!(needle[0].snippet.contains("needle") && needle[0].snippet.len() < 200, "{}", needle[0].snippet);
    // A prefix is enough, and accents are ignored.
    let accents = search_all(&test.store, "authenti muller", 10).await?;
    assert_eq!(accents.iter().map(|found| &found.session).collect::<Vec<_>>(), [other.id()]);
    assert_eq!(search_all(&test.store, "\"* OR NEAR(", 10).await?, []);
    assert_eq!(search_all(&test.store, "hay", 1).await?.len(), 1);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn store_is_readable_only_by_the_user() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let test = TestStore::new()?;
    test.session(&["secret"]).await?;
    let mode = |path: &Path| anyhow::Ok(path.metadata()?.permissions().mode() & 0o777);
    assert_eq!(mode(test.file().parent().context("no folder")?)?, 0o700);
    assert_eq!(mode(&test.file())?, 0o600);
    assert_eq!(mode(&test.file().with_extension("db-wal"))?, 0o600);
    std::fs::set_permissions(test.file(), std::fs::Permissions::from_mode(0o644))?;
    test.another_store().latest(None).await?;
    assert_eq!(mode(&test.file())?, 0o600);
    Ok(())
}

/// A dropped future leaves neither a gap nor a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_append_is_stored_completely_or_not_at_all() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["first"]).await?;
    for number in 0..200_u64 {
        let step = user(&format!("dropped {number}"));
        let append = session.append(&step);
        let _ = tokio::time::timeout(Duration::from_micros(number), append).await;
    }
    let last = session.append(&ended()).await?;
    let steps = test.another_store().steps(session.id()).await?.steps;
    assert_eq!(steps.len() as u64, last);
    assert_eq!(steps.last().map(|stored| &stored.step), Some(&ended()));
    Ok(())
}

/// All futures are `Send`: the tasks move between threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clones_append_to_one_log_from_many_tasks() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["first"]).await?;
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let (session, store) = (session.clone(), test.store.clone());
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
    assert_eq!(test.store.steps(session.id()).await?.steps.len(), 51);
    Ok(())
}

/// Without the copy, every new process would have to read a long log first.
#[tokio::test]
async fn sync_copies_a_long_log_into_the_file() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["hello"]).await?;
    let size = || anyhow::Ok(test.file().metadata()?.len());
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
