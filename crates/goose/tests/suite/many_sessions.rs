//! Many sessions in one process: each is open once, in its own folder, with its own files and events.

use std::{collections::BTreeMap, fs, io, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, future::try_join_all};
use goose::{
    agent_manager::{AgentManager, OpenError, OpenOptions, SharedSession},
    config::{ExtensionConfig, ProjectFile, TrustStore},
    exchange::{Decision, Event, EventReader, EventRecord, Exchange, replay},
    permission::{Mode, PermissionOptions, Permissions},
    session::{NewSession, SessionId, Step},
};
use goose_extension::{
    Backend, CommandSpec, FileError, FileRead, FileTarget, FileVersion, StartedCommand, prelude::*,
};
use goose_test_support::model_server::{Asked, ModelServer, Turn, Wire};
use parking_lot::Mutex;

use crate::{
    exchange_support::{Stage, all, done, lines, outcome, provider},
    support::{World, bounded},
};

/// Number of folders of [`folders_keep_everything_apart`].
const FOLDERS: usize = 50;

/// A session that is opened through the manager's open sessions.
async fn join(agents: &AgentManager, model: &ModelServer, id: &SessionId) -> anyhow::Result<SharedSession> {
    let open = async {
        let loaded = agents.store().open_session(id).await?;
        let options = OpenOptions::new(agents.settings().profile(None)?)
            .with_provider(
                provider(model, Wire::Chat).map_err(|error| OpenError::WorkingDir(error.to_string()))?,
            )
            .with_session(loaded)
            .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)));
        agents.open(options).await
    };
    Ok(agents.sessions().join(id, open).await?)
}

/// The records up to the end of a reply.
async fn to_the_end(reader: &mut EventReader) -> anyhow::Result<Vec<Arc<EventRecord>>> {
    let mut records = Vec::new();
    loop {
        let record = bounded(reader.next()).await?.context("the log was closed")?;
        let is_end = matches!(record.event, Event::Finished(_));
        records.push(record);
        if is_end {
            return Ok(records);
        }
    }
}

fn shown(records: &[Arc<EventRecord>]) -> Vec<String> {
    lines(&records.iter().map(|record| record.event.clone()).collect::<Vec<_>>())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_open_once_and_closed_when_idle() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([Turn::text("One."), Turn::text("Two.")])?;
    let agents = world.agents()?;
    let session = agents.store().create(NewSession::in_folder(world.file(""))).await?;
    session.append(&Step::Log { content: json!("Stored with the first step.").into(), call: None }).await?;
    let id = session.id().clone();
    ensure!(agents.sessions().get(&id).await.is_none());

    let other = agents.clone();
    let (first, second) = tokio::try_join!(join(&agents, &model, &id), join(&other, &model, &id))?;
    let mut reader = second.exchange().subscribe(None);
    ensure!(!first.is_only_user());
    let mut reply = first.exchange().reply_to("Begin");
    while bounded(reply.next()).await?.is_some() {}
    let seen = shown(&to_the_end(&mut reader).await?);
    ensure!(seen.contains(&"text One.".to_owned()), "{seen:?}");
    drop((first, second));
    ensure!(agents.sessions().ids() == std::slice::from_ref(&id), "it stays open for the idle time");
    ensure!(agents.sessions().get(&id).await.is_some());

    // Closed while it has a user: the next one opens it anew, and continues it.
    let third = agents.sessions().get(&id).await.context("it is open")?;
    agents.sessions().close(&id).await;
    ensure!(bounded(reader.next()).await?.is_none(), "the log of a closed session ends");
    let sessions = agents.sessions().clone().with_idle_time(Duration::from_millis(1));
    let fourth = join(&agents, &model, &id).await?;
    ensure!(fourth.exchange().messages().len() == 2 && third.exchange().session_id() == &id);
    let mut reply = fourth.exchange().reply_to("Go on");
    while bounded(reply.next()).await?.is_some() {}
    drop((third, fourth));
    drop(sessions.get(&id).await.context("it is open")?);
    let closed = async {
        while !sessions.ids().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    bounded(closed).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_replayed_as_events() -> anyhow::Result<()> {
    let list = json!({"command": "echo geese"});
    let call = Turn::thinking("Hm.").and_text("I look.").and_call("server__echo", json!({"text": "quack"}));
    let turns = [
        call,
        Turn::call("developer__shell", list),
        // Refused, which a later reader has to see as well.
        Turn::call("developer__dance", json!({})),
        Turn::text("Done.").costing(100, 10),
        Turn::text("More."),
    ];
    let stage = Stage::with(Wire::Chat, ModelServer::scripted(turns)?, |options| {
        options.with_extensions([ExtensionConfig::builtin("developer")])
    })
    .await?;
    stage.add_server(&[]).await?;
    let mut live = stage.exchange.subscribe(None);
    stage.say("What does it say?").await?;
    let before = to_the_end(&mut live).await?;

    let mut late = stage.exchange.read_after(None).await?;
    let replayed = to_the_end(&mut late).await?;
    let stored =
        |line: &String| !["asking", "text", "thinking", "progress"].iter().any(|word| line.starts_with(word));
    let without_pieces = |lines: Vec<String>| lines.into_iter().filter(stored).collect::<Vec<_>>();
    assert_eq!(without_pieces(shown(&replayed)), without_pieces(shown(&before)));
    let is_prompt = |record: &&Arc<EventRecord>| matches!(&record.event, Event::Prompt(said) if said.own_text() == "What does it say?");
    assert_eq!(
        (before.iter().find(is_prompt).is_some(), replayed.iter().find(is_prompt).is_some()),
        (true, true)
    );
    let spent = |records: &[Arc<EventRecord>]| {
        records.iter().rev().find_map(|record| match &record.event {
            Event::Cost(cost) => Some((cost.session, cost.dollars)),
            _ => None,
        })
    };
    assert_eq!(spent(&replayed), spent(&before));

    // A reader that comes back after the log was closed misses nothing, wherever it stopped.
    let id = stage.exchange.session_id().clone();
    stage.exchange.close().await;
    let opened = stage.store.open_session(&id).await?;
    let records = replay(&id, &opened.steps, 0);
    let again =
        crate::exchange_support::exchange(&stage.world, &stage.model, Wire::Chat, opened, |it| it).await?;
    let rest = |records: &[Arc<EventRecord>], at: usize| {
        let step = records[at].step;
        records[at + 1..]
            .iter()
            .filter(|record| record.step > step)
            .map(|record| record.event.clone())
            .collect::<Vec<_>>()
    };
    for records in [&before[..], &replayed[..]] {
        for (at, record) in records.iter().enumerate() {
            let mut reader = again.read_after(Some(record.position().to_string().parse()?)).await?;
            let mut seen = Vec::new();
            while let Ok(Some(next)) = tokio::time::timeout(Duration::from_millis(1), reader.next()).await {
                seen.push(next.event.clone());
            }
            for event in rest(records, at)
                .iter()
                .filter(|event| matches!(event, Event::ToolFinished { .. } | Event::Answered(_)))
            {
                ensure!(seen.contains(event), "after {record:?}: {event:?} is missing in {seen:?}");
            }
        }
    }
    let position = records.last().context("there are records")?.position();
    let mut reader = again.read_after(Some(position)).await?;
    let mut reply = again.reply_to("More");
    while bounded(reply.next()).await?.is_some() {}
    let new = to_the_end(&mut reader).await?;
    ensure!(new.iter().all(|record| record.epoch != before[0].epoch && record.epoch != 0), "{new:?}");
    ensure!(shown(&new).contains(&"text More.".to_owned()), "{new:?}");
    Ok(())
}

/// Files in memory, as an editor has them before they are saved.
#[derive(Default)]
struct Buffers(Mutex<BTreeMap<PathBuf, Vec<u8>>>);

impl Backend for Buffers {
    fn read(&self, file: &FileTarget, _: u64) -> Result<FileRead, FileError> {
        let found = self.0.lock().get(&file.path).cloned();
        Ok(found
            .map_or(FileRead::Missing, |bytes| FileRead::Content { bytes, version: FileVersion::new("1") }))
    }

    fn replace(&self, file: &FileTarget, bytes: &[u8], _: Option<&FileVersion>) -> Result<(), FileError> {
        self.0.lock().insert(file.path.clone(), bytes.to_vec());
        Ok(())
    }

    fn spawn(&self, _: CommandSpec) -> io::Result<StartedCommand> {
        Err(io::Error::other("the editor starts no programs"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_reaches_all_tools_and_delegates() -> anyhow::Result<()> {
    let work = |asked: &Asked| {
        let is_delegate = asked.last_user_text().is_some_and(|text| text.contains("Write it"));
        match (is_delegate, asked.tool_results().len()) {
            (true, 0) => {
                Turn::call("developer__write", json!({"path": "new.txt", "content": "by the delegate"}))
            }
            (_, 0) => Turn::call("developer__read", json!({"path": "open.txt"}))
                .and_call("developer__shell", json!({"command": "ls"})),
            (false, 2) => Turn::call("delegate", json!({"instructions": "Write it"})),
            _ => Turn::text("Done."),
        }
    };
    let buffers = Arc::new(Buffers::default());
    let backend = Arc::clone(&buffers);
    let (world, model) = (World::new()?, ModelServer::answering(work)?);
    let agents = world.agents()?;
    let options = OpenOptions::new(agents.settings().profile(None)?)
        .with_provider(provider(&model, Wire::Chat)?)
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_working_dir(world.file(""))
        .with_backend(backend);
    let exchange = agents.open(options).await?;
    let folder = world.file("").canonicalize()?;
    buffers.0.lock().insert(folder.join("open.txt"), b"not saved yet".to_vec());
    let events = all(exchange.reply_to("Work")).await?;
    assert_eq!(outcome(&events)?, &done(), "{events:?}");
    let results = model.asked()[1].tool_results();
    ensure!(
        results[0].1.contains("not saved yet") && results[1].1.contains("the editor starts no programs"),
        "{results:?}"
    );
    assert_eq!(
        buffers.0.lock().get(&folder.join("new.txt")).map(Vec::as_slice),
        Some(&b"by the delegate"[..]),
        "{events:?}"
    );
    ensure!(!folder.join("new.txt").exists(), "nothing is written besides");
    Ok(())
}

/// A folder of its own, and what it is about.
struct Place {
    folder: PathBuf,
    hint: String,
    /// The project's file says that nothing is asked, and is trusted.
    is_trusted: bool,
    uses_hints: bool,
}

impl Place {
    fn new(world: &World, number: usize) -> anyhow::Result<Self> {
        let folder = world.file(&format!("folder-{number:02}"));
        fs::create_dir_all(folder.join(".git"))?;
        let folder = folder.canonicalize()?;
        let hint = format!("hint-{number:02}-end");
        fs::write(folder.join(".goosehints"), format!("Remember {hint}."))?;
        if number % 3 != 2 {
            fs::create_dir_all(folder.join(".goose"))?;
            let config = format!("GOOSE_MODE: auto\nGOOSE_SHELL_ENV: [MARK_{number:02}_TOKEN]\n");
            fs::write(folder.join(".goose/config.yaml"), config)?;
        }
        if number.is_multiple_of(3) {
            let file = ProjectFile::find(&folder)?.context("there is a project file")?;
            TrustStore::new(&world.paths()).trust(&file)?;
        }
        Ok(Self { folder, hint, is_trusted: number.is_multiple_of(3), uses_hints: number % 3 != 1 })
    }

    async fn open(&self, agents: &AgentManager, model: &ModelServer) -> anyhow::Result<Exchange> {
        let agents = agents.in_folder(&self.folder)?;
        let options = OpenOptions::new(agents.settings().profile(None)?)
            .with_provider(provider(model, Wire::Chat)?)
            .with_working_dir(&self.folder);
        Ok(agents.open(options).await?)
    }
}

/// Works in a folder. Returns the number of questions that were asked.
async fn work(exchange: &Exchange) -> anyhow::Result<usize> {
    let mut reply = exchange.reply_to("Work");
    let (mut asked, mut last) = (0, None);
    while let Some(event) = bounded(reply.next()).await? {
        if let Event::Approval(approval) = &event {
            asked += 1;
            ensure!(reply.answer(&approval.id, Decision::Session));
        }
        last = Some(event);
    }
    ensure!(last == Some(Event::Finished(done())), "{last:?}");
    Ok(asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_keep_everything_apart() -> anyhow::Result<()> {
    let world = World::new()?;
    fs::create_dir_all(world.paths().config)?;
    fs::write(world.paths().config_file(), "GOOSE_MODE: approve\n")?;
    let script = |asked: &Asked| match asked.body["messages"].as_array().and_then(|all| all.last()) {
        Some(last) if last["role"] != "tool" => {
            Turn::call("developer__shell", json!({"command": "touch mark && pwd && env | grep MARK_"}))
        }
        _ => Turn::text("Done."),
    };
    let model = ModelServer::answering(script)?;
    let variables =
        (0..FOLDERS).map(|number| (format!("MARK_{number:02}_TOKEN"), format!("value-{number:02}")));
    let agents = world
        .agents()?
        .with_environment(variables.chain([("PATH".to_owned(), std::env::var("PATH")?)]).collect());
    let places = (0..FOLDERS).map(|number| Place::new(&world, number)).collect::<anyhow::Result<Vec<_>>>()?;
    let open = try_join_all(places.iter().map(|place| place.open(&agents, &model))).await?;
    let asked = try_join_all(open.iter().map(work)).await?;
    for (number, (place, asked)) in places.iter().zip(asked).enumerate() {
        assert_eq!(asked, usize::from(!place.is_trusted), "folder {number}");
        ensure!(place.folder.join("mark").exists(), "folder {number}");
    }
    let again = try_join_all(open.iter().map(work)).await?;
    assert_eq!(again, vec![0; FOLDERS], "what was allowed for a session stays allowed in it");
    let requests = model.asked();
    ensure!(requests.len() == 4 * FOLDERS, "{}", requests.len());
    for (number, place) in places.iter().enumerate() {
        let path = place.folder.display().to_string();
        let mine: Vec<&Asked> =
            requests.iter().filter(|asked| asked.body.to_string().contains(&path)).collect();
        ensure!(mine.len() == 4, "folder {number}: {}", mine.len());
        for asked in mine {
            let body = asked.body.to_string();
            let hints = places.iter().filter(|other| body.contains(&other.hint)).count();
            assert_eq!(
                (hints, body.contains(&place.hint)),
                (usize::from(place.uses_hints), place.uses_hints)
            );
            let values = (0..FOLDERS).filter(|number| body.contains(&format!("value-{number:02}")));
            let values: Vec<usize> = values.collect();
            let expected =
                if place.is_trusted && !asked.tool_results().is_empty() { vec![number] } else { Vec::new() };
            assert_eq!(values, expected, "folder {number}");
        }
    }
    Ok(())
}
