//! Changes of files are taken back: bytes, modes and absence, after any sequence of tool calls, and never over the
//! user's own changes.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, ensure};
use goose::{
    agent_manager::OpenOptions,
    checkpoints::{Checkpoints, Conflict, FileOutcome, Intention, Restored},
    config::ExtensionConfig,
    exchange::Exchange,
    session::{NewSession, SessionStore, export},
};
use goose_mcp::LocalBackend;
use goose_test_support::model_server::{Asked, ModelServer, Turn, Wire};
use parking_lot::Mutex;
use proptest::{prelude::*, test_runner::Config};
use serde_json::json;

use crate::{
    exchange_support::{Stage, all, exchange},
    support::{World, until},
};

/// Turns of the model that are still to come.
type Script = Arc<Mutex<VecDeque<Turn>>>;

/// A conversation whose changes can be taken back, in a folder of its own.
struct Desk {
    stage: Stage,
    script: Script,
    folder: PathBuf,
}

fn with_checkpoints(folder: &Path) -> impl FnOnce(OpenOptions) -> OpenOptions {
    let folder = folder.to_owned();
    |options| {
        options
            .with_backend(Arc::new(LocalBackend))
            .with_checkpoints()
            .with_extensions([ExtensionConfig::builtin("developer")])
            .with_working_dir(folder)
    }
}

impl Desk {
    async fn new() -> anyhow::Result<Self> {
        let script = Script::default();
        let turns = Arc::clone(&script);
        let answer = move |_: &Asked| turns.lock().pop_front().unwrap_or_else(|| Turn::text("Done."));
        let model = ModelServer::answering(answer)?;
        let world = World::new()?;
        let folder = world.file("project");
        fs::create_dir(&folder)?;
        let folder = folder.canonicalize()?;
        let store = SessionStore::at(world.file("sessions.db"));
        let session = store.create(NewSession::in_folder(&folder)).await?;
        let exchange = exchange(&world, &model, Wire::Chat, session, with_checkpoints(&folder)).await?;
        Ok(Self { stage: Stage { world, model, store, exchange }, script, folder })
    }

    /// A reply to a message, in which the model makes these calls.
    async fn turn(&self, text: &str, calls: impl IntoIterator<Item = Turn>) -> anyhow::Result<()> {
        self.script.lock().extend(calls);
        all(self.stage.exchange.reply_to(text)).await?;
        ensure!(self.script.lock().is_empty(), "the model has said all that it should");
        Ok(())
    }

    /// The same, in which no call fails.
    async fn turn_without_errors(
        &self,
        text: &str,
        calls: impl IntoIterator<Item = Turn>,
    ) -> anyhow::Result<()> {
        self.script.lock().extend(calls);
        let events = all(self.stage.exchange.reply_to(text)).await?;
        for event in &events {
            if let goose::exchange::Event::ToolFinished { output, .. } = event {
                ensure!(!output.is_error, "{output:?}");
            }
        }
        ensure!(self.script.lock().is_empty(), "the model has said all that it should");
        Ok(())
    }

    /// Ends the process, as far as a session can tell, and opens the session again.
    async fn reopen(&mut self) -> anyhow::Result<()> {
        let Stage { world, model, store, exchange: earlier } = &self.stage;
        let id = earlier.session_id().clone();
        earlier.close().await;
        let session = store.open_session(&id).await?;
        let again = exchange(world, model, Wire::Chat, session, with_checkpoints(&self.folder)).await?;
        self.stage.exchange = again;
        Ok(())
    }

    fn checkpoints(&self) -> anyhow::Result<&Arc<Checkpoints>> {
        self.stage.exchange.checkpoints().context("checkpoints are kept")
    }

    /// The step of the message whose changes are taken back next.
    async fn last(&self) -> anyhow::Result<Option<u64>> {
        let Some(last) = self.checkpoints()?.last_change()? else { return Ok(None) };
        step_before(&self.stage.exchange, last).await
    }

    /// Takes back the last changes. Conflicts are answered with `agrees`.
    async fn undo(&self, agrees: bool) -> anyhow::Result<Vec<Restored>> {
        let step = self.last().await?.context("there is something to undo")?;
        let plan = self.checkpoints()?.plan(step)?;
        Ok(self.checkpoints()?.restore(&plan, |_| agrees)?)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, content: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.at(name), content)?)
    }

    fn text(&self, name: &str) -> anyhow::Result<String> {
        Ok(fs::read_to_string(self.at(name))?)
    }
}

async fn step_before(exchange: &Exchange, change: u64) -> anyhow::Result<Option<u64>> {
    let prompts = exchange.prompts().await?;
    Ok(prompts.iter().rev().map(|prompt| prompt.step).find(|step| *step <= change))
}

fn read(path: &str) -> Turn {
    Turn::call("developer__read", json!({ "path": path }))
}

fn write(path: &str, content: &str) -> Turn {
    Turn::call("developer__write", json!({"path": path, "content": content}))
}

fn edit(path: &str, before: &str, after: &str) -> Turn {
    Turn::call("developer__edit", json!({"path": path, "before": before, "after": after}))
}

fn outcomes(restored: &[Restored]) -> Vec<&FileOutcome> {
    restored.iter().map(|file| &file.outcome).collect()
}

/// Something that happens to a file.
#[derive(Debug, Clone)]
enum Event {
    Write(&'static str, String),
    Edit(&'static str, String),
}

/// Changes for one message, after the user has changed permissions.
#[derive(Debug, Clone)]
struct Message {
    modes: Vec<(&'static str, u32)>,
    events: Vec<Event>,
}

const NAMES: [&str; 6] = ["a", "b.txt", "sub/c", "sub/deep/d", "new/folder/e", "link"];

fn any_message() -> impl Strategy<Value = Message> {
    let name = || prop::sample::select(NAMES.to_vec());
    let event = prop_oneof![
        (name(), "[a-c\r\né]{0,12}").prop_map(|(name, text)| Event::Write(name, text)),
        (name(), "[x-z]{0,3}").prop_map(|(name, text)| Event::Edit(name, text)),
    ];
    let mode = prop::sample::select(vec![0o644, 0o600, 0o755, 0o640]);
    let modes = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec((name(), mode), 1..3)];
    (modes, prop::collection::vec(event, 0..4)).prop_map(|(modes, events)| Message { modes, events })
}

/// Files that are there at first, with their modes.
fn any_files() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>, u32)>> {
    let content = prop_oneof![
        "start[a-c\r\n]{0,9}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..9)
    ];
    let file = (prop::sample::select(NAMES[..4].to_vec()), content, prop::sample::select(vec![0o644, 0o700]));
    prop::collection::vec(file, 0..5)
}

/// Everything in a folder: bytes and mode of each file, and the folders.
type Snapshot = BTreeMap<PathBuf, Option<(Vec<u8>, u32)>>;

fn snapshot(folder: &Path) -> anyhow::Result<Snapshot> {
    let mut all = Snapshot::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(snapshot(&path)?);
            all.insert(path, None);
        } else {
            all.insert(
                path.clone(),
                Some((fs::read(&path)?, fs::symlink_metadata(&path)?.permissions().mode())),
            );
        }
    }
    Ok(all)
}

fn calls(event: &Event) -> Vec<Turn> {
    match event {
        // A file that the session has not seen is not overwritten.
        Event::Write(name, text) => vec![read(name), write(name, text)],
        Event::Edit(name, text) => vec![edit(name, "start", &format!("{text}start"))],
    }
}

async fn play(
    files: Vec<(&'static str, Vec<u8>, u32)>,
    messages: Vec<Message>,
    is_reopened: bool,
) -> anyhow::Result<usize> {
    let mut desk = Desk::new().await?;
    for (name, content, mode) in &files {
        let path = desk.at(name);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, content)?;
        fs::set_permissions(&path, Permissions::from_mode(*mode))?;
    }
    fs::write(desk.stage.world.file("elsewhere"), "start of another")?;
    std::os::unix::fs::symlink(desk.stage.world.file("elsewhere"), desk.at("link"))?;
    let mut before = Vec::new();
    let has_modes = messages.iter().any(|message| !message.modes.is_empty());
    for (number, message) in messages.iter().enumerate() {
        for (name, mode) in &message.modes {
            if desk.at(name).exists() {
                fs::set_permissions(desk.at(name), Permissions::from_mode(*mode))?;
            }
        }
        before.push(snapshot(&desk.folder)?);
        desk.turn(&format!("message {number}"), message.events.iter().flat_map(calls)).await?;
    }
    if is_reopened {
        desk.reopen().await?;
    }
    let prompts = desk.stage.exchange.prompts().await?;
    let mut count = 0;
    while let Some(step) = desk.last().await? {
        let number = prompts.iter().position(|prompt| prompt.step == step).context("a message")?;
        let plan = desk.checkpoints()?.plan(step)?;
        let impossible = plan.files.iter().find(|file| matches!(file.intention, Intention::Impossible(_)));
        ensure!(impossible.is_none(), "{impossible:?}");
        let restored = desk.checkpoints()?.restore(&plan, |_| true)?;
        count += restored.len();
        let now = snapshot(&desk.folder)?;
        for file in plan.files.iter().filter(|file| file.path.starts_with(&desk.folder)) {
            let expected = before[number].get(&file.path);
            ensure!(now.get(&file.path) == expected, "{number}: {file:?}\n{now:?}\n{expected:?}");
        }
        if !has_modes {
            ensure!(now == before[number], "{number}: {now:?}\n{:?}", before[number]);
        }
    }
    Ok(count)
}

/// Any sequence of tool edits, also of new files in new folders, through links and with other modes, is taken back
/// message by message.
#[test]
fn any_sequence_of_edits_is_taken_back() {
    let count = AtomicUsize::new(0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    proptest!(
        Config { cases: 24, max_shrink_iters: 60, failure_persistence: None, ..Config::default() },
        |(
            files in any_files(),
            messages in prop::collection::vec(any_message(), 1..4),
            is_reopened in any::<bool>()
        )| {
            let played = runtime.block_on(play(files, messages, is_reopened));
            let restored = played.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
            count.fetch_add(restored, Ordering::Relaxed);
        }
    );
    assert!(count.into_inner() > 0, "no file was ever changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_changed_is_restored_only_if_agreed() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.write("a", "old")?;
    desk.write("b", "old")?;
    desk.write("c", "old")?;
    let calls = ["a", "b", "c"].into_iter().flat_map(|name| [read(name), write(name, "new")]);
    desk.turn_without_errors("Change them", calls.chain([write("d", "new")])).await?;
    desk.write("a", "mine")?;
    fs::remove_file(desk.at("b"))?;
    desk.write("d", "mine too")?;
    let step = desk.last().await?.context("changes")?;
    let plan = desk.checkpoints()?.plan(step)?;
    let conflicts: Vec<Option<Conflict>> = plan.files.iter().map(|file| file.conflict).collect();
    assert_eq!(conflicts, [Some(Conflict::Changed), Some(Conflict::Deleted), None, Some(Conflict::Changed)]);
    let restored = desk.checkpoints()?.restore(&plan, |file| file.path.ends_with("b"))?;
    let (kept, done) = (&FileOutcome::Kept, &FileOutcome::Restored);
    assert_eq!(outcomes(&restored), [kept, done, done, kept]);
    assert_eq!((desk.text("a")?, desk.text("d")?), ("mine".to_owned(), "mine too".to_owned()));
    assert_eq!((desk.text("b")?, desk.text("c")?), ("old".to_owned(), "old".to_owned()));
    assert_eq!(desk.last().await?, None, "nothing is offered again");
    Ok(())
}

/// Changes between the question and the answer are not lost either.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_the_user_thinks_is_left_alone() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.write("a", "old")?;
    desk.turn_without_errors("Change it", [read("a"), write("a", "new")]).await?;
    let plan = desk.checkpoints()?.plan(0)?;
    desk.write("a", "just now")?;
    let restored = desk.checkpoints()?.restore(&plan, |_| true)?;
    ensure!(matches!(restored[0].outcome, FileOutcome::Failed(_)), "{restored:?}");
    assert_eq!(desk.text("a")?, "just now");
    Ok(())
}

/// A change by the user between two edits of one reply would be lost as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_between_two_edits_of_a_reply_asks() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.write("a", "start")?;
    let add = Turn::call("developer__shell", json!({"command": "echo mine >> a"}));
    desk.turn_without_errors("Work", [edit("a", "start", "start one "), add, edit("a", "one", "two")])
        .await?;
    let plan = desk.checkpoints()?.plan(0)?;
    assert_eq!(plan.files[0].conflict, Some(Conflict::Between));
    desk.undo(true).await?;
    assert_eq!(desk.text("a")?, "start");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_became_a_link_is_not_followed() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.turn_without_errors("Write", [write("sub/a", "new")]).await?;
    let other = desk.stage.world.file("other");
    fs::create_dir(&other)?;
    fs::write(other.join("a"), "new")?;
    fs::remove_dir_all(desk.at("sub"))?;
    std::os::unix::fs::symlink(&other, desk.at("sub"))?;
    let restored = desk.undo(true).await?;
    ensure!(matches!(restored[0].outcome, FileOutcome::Impossible(_)), "{restored:?}");
    assert_eq!(fs::read_to_string(other.join("a"))?, "new");
    Ok(())
}

/// A file over the limit is not copied, and named. Commands are named, with the files that they changed.
#[tokio::test(flavor = "multi_thread")]
async fn large_files_and_commands_are_named() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.turn_without_errors("Begin", [write("large", "small at first")]).await?;
    File::options().write(true).open(desk.at("large"))?.set_len(goose::checkpoints::MAX_FILE_BYTES + 1)?;
    desk.write("before", "not by a command")?;
    let touch = Turn::call("developer__shell", json!({"command": "echo made > made"}));
    desk.turn_without_errors("Go on", [write("large", "small again"), touch]).await?;
    let step = desk.last().await?.context("changes")?;
    let elsewhere = desk.checkpoints()?.changed_elsewhere(step, &desk.folder)?;
    assert_eq!(elsewhere.commands, ["echo made > made"]);
    ensure!(elsewhere.files.contains(&desk.at("made")) && elsewhere.is_complete, "{elsewhere:?}");
    ensure!(!elsewhere.files.contains(&desk.at("large")), "{elsewhere:?}");
    let restored = desk.undo(true).await?;
    let FileOutcome::Impossible(reason) = &restored[0].outcome else { anyhow::bail!("{restored:?}") };
    ensure!(reason.contains("too large"), "{reason}");
    assert_eq!(desk.text("large")?, "small again");
    Ok(())
}

/// A process that is killed leaves half a line, or a record of a change that was not made.
#[tokio::test(flavor = "multi_thread")]
async fn a_torn_journal_and_an_unmade_change_are_no_problem() -> anyhow::Result<()> {
    let mut desk = Desk::new().await?;
    desk.write("a", "old")?;
    desk.turn_without_errors("One", [read("a"), write("a", "new")]).await?;
    desk.stage.exchange.close().await;
    let state = desk.stage.world.paths().state.join("checkpoints");
    let journal = state.join(desk.stage.exchange.session_id().as_str()).join("journal");
    let whole = fs::read_to_string(&journal)?;
    let unmade = whole.lines().next().context("a record")?.replace("\"id\":1,", "\"id\":2,");
    fs::write(&journal, format!("{whole}{}\n{{\"record\":\"chan", unmade.replace("project/a", "project/b")))?;
    desk.reopen().await?;
    desk.turn_without_errors("Two", [write("c", "new")]).await?;
    let after = fs::read_to_string(&journal)?;
    ensure!(after.contains("chan\n{\"record\":\"changed\",\"id\":3"), "{after}");
    desk.undo(true).await?;
    desk.undo(true).await?;
    assert_eq!(desk.text("a")?, "old");
    ensure!(!desk.at("b").exists() || desk.text("b")? == "old");
    ensure!(!desk.at("c").exists());
    Ok(())
}

/// Nothing is created before the first change, and copies are private.
#[tokio::test(flavor = "multi_thread")]
async fn copies_are_private_and_made_once_for_each_reply() -> anyhow::Result<()> {
    let desk = Desk::new().await?;
    desk.write("a", "start")?;
    let root = desk.stage.world.paths().state.join("checkpoints");
    desk.turn_without_errors("Look", [read("a")]).await?;
    ensure!(!root.exists(), "nothing was changed");
    desk.turn_without_errors("Edit", [edit("a", "start", "start 1"), edit("a", "start 1", "start 12")])
        .await?;
    let folder = root.join(desk.stage.exchange.session_id().as_str());
    let names: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    let copies: Vec<&PathBuf> =
        names.iter().filter(|path| path.file_name().is_some_and(|it| it.len() == 64)).collect();
    assert_eq!(copies.len(), 1, "{names:?}");
    for path in names.iter().chain([&folder]) {
        assert_eq!(fs::metadata(path)?.permissions().mode() & 0o077, 0, "{path:?}");
    }
    desk.stage.exchange.close().await;
    Ok(())
}

/// Old sessions make room, but never one that is open.
#[tokio::test(flavor = "multi_thread")]
async fn old_copies_are_removed_and_open_sessions_stay() -> anyhow::Result<()> {
    let open = Desk::new().await?;
    open.write("a", "old")?;
    open.turn_without_errors("Change it", [read("a"), write("a", "new")]).await?;
    let root = open.stage.world.paths().state.join("checkpoints");
    let is_over = SystemTime::now() - goose::checkpoints::MAX_AGE - Duration::from_secs(60);
    for name in ["aged", "large"] {
        fs::create_dir(root.join(name))?;
        fs::write(root.join(name).join("journal"), "")?;
    }
    for name in ["aged", open.stage.exchange.session_id().as_str()] {
        File::options().write(true).open(root.join(name).join("journal"))?.set_modified(is_over)?;
    }
    let copy = File::create(root.join("large/copy"))?;
    copy.set_len(goose::checkpoints::MAX_TOTAL_BYTES + 1)?;
    let Stage { world, model, store, .. } = &open.stage;
    let session = store.create(NewSession::in_folder(&open.folder)).await?;
    let second = exchange(world, model, Wire::Chat, session, with_checkpoints(&open.folder)).await?;
    open.script.lock().extend([write("b", "new")]);
    all(second.reply_to("Begin")).await?;
    until("old copies are gone", || !root.join("aged").exists() && !root.join("large").exists()).await?;
    open.undo(true).await?;
    assert_eq!(open.text("a")?, "old");
    Ok(())
}

/// Going back: the model sees the conversation before the message, and the store keeps everything.
#[tokio::test(flavor = "multi_thread")]
async fn going_back_keeps_the_originals() -> anyhow::Result<()> {
    let mut desk = Desk::new().await?;
    for text in ["first question", "second question", "third question"] {
        desk.turn(text, [Turn::text(format!("Answer to the {text}."))]).await?;
    }
    let prompts = desk.stage.exchange.prompts().await?;
    let texts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
    assert_eq!(texts, ["first question", "second question", "third question"]);
    desk.stage.exchange.rewind(prompts[1].step).await.map_err(|failure| anyhow::anyhow!(failure.message))?;
    desk.turn("another question", [Turn::text("Another answer.")]).await?;
    let sent = desk.stage.model.asked().pop().context("it was asked")?.body["messages"].to_string();
    ensure!(sent.contains("Answer to the first") && sent.contains("another question"), "{sent}");
    ensure!(!sent.contains("second question") && !sent.contains("third question"), "{sent}");
    desk.reopen().await?;
    let current = desk.stage.exchange.prompts().await?;
    let current: Vec<&str> = current.iter().filter(|it| it.is_current).map(|it| it.text.as_str()).collect();
    assert_eq!(current, ["first question", "another question"]);
    assert_eq!(desk.stage.exchange.messages().len(), 4);
    let id = desk.stage.exchange.session_id();
    let page = export::markdown(&desk.stage.store, id).await?;
    ensure!(page.contains("third question") && page.contains("went back to an earlier message"), "{page}");
    ensure!(export::json(&desk.stage.store, id).await?.contains("\"rewound_to\""));
    Ok(())
}
