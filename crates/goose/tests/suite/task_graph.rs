//! Requests that are split into tasks: they run side by side or one after another, fail, are cancelled and denied, and
//! their results become one answer.
#![cfg(target_os = "linux")]

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use goose::{
    agent_manager::{AgentManager, OpenOptions, SessionState},
    config::{Settings, SettingsSource},
    exchange::{Decision, Event, EventRecord, Exchange, Outcome, PlanDecision, Reply, TaskState},
    permission::{Effect, Mode, PermissionOptions, Permissions, Rule},
    session::{Facts, ListOptions, NewSession, SessionKind, SessionSummary, Step, TaskEnd, TaskFinished},
};
use goose_extension::{Message, prelude::*};
use goose_test_support::{
    is_alive,
    model_server::{Asked, ModelServer, Turn, Wire},
};

use crate::{
    exchange_support::{done, problem, provider},
    support::{World, bounded, until},
};

/// The words that only the request for one answer has.
const JOIN: &str = "The request was split into tasks";

/// An explicit list, whose first job is for a mode that only reads.
const LIST: &str = "1. Review this repository for SQL injection and hard-coded secrets\n\
                    2. Restyle the buttons of the React checkout page";

/// A session whose requests are split.
struct Crew {
    world: World,
    manager: AgentManager,
    model: ModelServer,
    exchange: Exchange,
    /// A user answers questions about the plan.
    is_attended: bool,
}

impl Crew {
    async fn new(model: ModelServer) -> anyhow::Result<Self> {
        Self::with(model, Permissions::new(PermissionOptions::new(Mode::Auto)), "").await
    }

    async fn with(model: ModelServer, permissions: Arc<Permissions>, config: &str) -> anyhow::Result<Self> {
        Self::after(model, permissions, config, &[]).await
    }

    /// A session that was ended after some steps.
    async fn after(
        model: ModelServer,
        permissions: Arc<Permissions>,
        config: &str,
        steps: &[Step],
    ) -> anyhow::Result<Self> {
        let world = World::new()?;
        fs::create_dir_all(world.paths().config)?;
        fs::write(world.paths().config.join("config.yaml"), config)?;
        let host = ("OPENAI_HOST", model.url());
        let environment = [("PATH", std::env::var("PATH")?), host, ("OPENAI_API_KEY", "key".to_owned())];
        let settings = Settings::load(
            SettingsSource::new(world.paths())
                .with_builtins(goose_mcp::BUILTINS)
                .with_environment(environment),
        )?;
        let manager = AgentManager::new(settings).with_pool(Arc::clone(&world.pool));
        let session = session(&world, &manager, steps).await?;
        let exchange = open(&world, &manager, &model, permissions, session).await?;
        Ok(Self { world, manager, model, exchange, is_attended: false })
    }

    /// Ends goose, and opens a session.
    async fn reopen(&mut self, session: SessionState) -> anyhow::Result<()> {
        self.exchange.close().await;
        let permissions = Arc::clone(self.exchange.permissions());
        self.exchange = open(&self.world, &self.manager, &self.model, permissions, session).await?;
        Ok(())
    }

    /// A reply to tasks, each with the ids of those that it needs, in a session that was ended once they were planned.
    async fn begin(&mut self, tasks: &[(&str, &[&str])]) -> anyhow::Result<Reply> {
        let session = session(&self.world, &self.manager, &planned(tasks)?).await?;
        self.reopen(session).await?;
        self.exchange.set_attended(self.is_attended);
        Ok(self.exchange.reply())
    }

    /// All records of such a reply.
    async fn run(&mut self, tasks: &[(&str, &[&str])]) -> anyhow::Result<Vec<Arc<EventRecord>>> {
        records(self.begin(tasks).await?).await
    }

    async fn steps(&self) -> anyhow::Result<Vec<Step>> {
        let steps = self.manager.store().steps(self.exchange.session_id()).await?;
        Ok(steps.steps.into_iter().map(|stored| stored.step).collect())
    }

    /// The sessions of tasks, oldest first.
    async fn children(&self) -> anyhow::Result<Vec<SessionSummary>> {
        let mut sessions = self.manager.store().list(ListOptions::newest(100).all_kinds()).await?;
        sessions.retain(|session| session.kind == SessionKind::Delegate);
        sessions.reverse();
        Ok(sessions)
    }

    fn folder(&self) -> String {
        self.world.file("").canonicalize().unwrap_or_default().display().to_string()
    }

    /// The texts of the requests for a task.
    fn asked_for(&self, task: &str) -> Vec<String> {
        self.model.asked().iter().filter(|asked| is_for(asked, task)).map(text).collect()
    }
}

async fn open(
    world: &World,
    manager: &AgentManager,
    model: &ModelServer,
    permissions: Arc<Permissions>,
    session: SessionState,
) -> anyhow::Result<Exchange> {
    let options = OpenOptions::new(manager.settings().profile(None)?)
        .with_provider(provider(model, Wire::Chat)?)
        .with_session(session)
        .with_permissions(permissions)
        .with_working_dir(world.file("").canonicalize()?);
    Ok(manager.open(options).await?)
}

/// A session with steps.
async fn session(world: &World, manager: &AgentManager, steps: &[Step]) -> anyhow::Result<SessionState> {
    let new = NewSession::in_folder(world.file("").canonicalize()?);
    let session = manager.store().create(new).await?;
    if steps.is_empty() {
        return Ok(session.into());
    }
    session.append_all(steps).await?;
    Ok(manager.store().open_session(session.id()).await?.into())
}

/// The steps of a session that was ended once the tasks `1`, `2`, … were planned, each with the ids of those that it
/// needs.
fn planned(tasks: &[(&str, &[&str])]) -> anyhow::Result<Vec<Step>> {
    let task = |(at, (text, needs)): (usize, &(&str, &[&str]))| {
        let id = (at + 1).to_string();
        json!({"id": id, "agent": "goose-agent", "mode": "specialist", "text": text, "needs": needs})
    };
    let tasks: Vec<Value> = tasks.iter().enumerate().map(task).collect();
    let message = Step::Message { message: Message::user("Do all of it") };
    Ok(vec![message, serde_json::from_value(json!({"step": "task_plan", "tasks": tasks}))?])
}

/// The steps of a session that was ended after the first of two tasks, which used 100 tokens.
fn half_done() -> anyhow::Result<Vec<Step>> {
    let mut steps = planned(&[("First", &[]), ("Second", &[])])?;
    steps.push(serde_json::from_value(json!({
        "step": "task_finished", "task": "1", "end": "done", "result": "The first result.",
        "usage": {"input": 90, "output": 10},
    }))?);
    Ok(steps)
}

async fn records(mut reply: Reply) -> anyhow::Result<Vec<Arc<EventRecord>>> {
    let mut records = Vec::new();
    while let Some(record) = bounded(reply.next_record()).await? {
        records.push(record);
    }
    Ok(records)
}

fn text(asked: &Asked) -> String {
    asked.last_user_text().unwrap_or_default()
}

fn is_join(asked: &Asked) -> bool {
    text(asked).contains(JOIN) && !text(asked).contains("<criteria>")
}

fn is_for(asked: &Asked, task: &str) -> bool {
    text(asked).contains(&format!("Your task:\n\n{task}\n"))
}

/// The tasks that began (`+1`) and ended (`-1 done`), in order.
fn course(records: &[Arc<EventRecord>]) -> Vec<String> {
    let line = |record: &Arc<EventRecord>| match &record.event {
        Event::TaskStarted { task, .. } => Some(format!("+{task}")),
        Event::TaskRetried { task, .. } => Some(format!("?{task}")),
        Event::TaskFinished(TaskFinished { task, end, .. }) => Some(format!("-{task} {}", end.word())),
        _ => None,
    };
    records.iter().filter_map(line).collect()
}

fn outcome(records: &[Arc<EventRecord>]) -> anyhow::Result<&Outcome> {
    match records.last().map(|record| &record.event) {
        Some(Event::Finished(outcome)) => Ok(outcome),
        other => anyhow::bail!("the last event is no end: {other:?}"),
    }
}

fn answer(records: &[Arc<EventRecord>]) -> String {
    let texts = records.iter().filter_map(|record| match &record.event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// A model that joins with `Joined.` and does tasks as told.
fn crew_model(mut work: impl FnMut(&Asked) -> Turn + Send + 'static) -> anyhow::Result<ModelServer> {
    ModelServer::answering(move |asked| if is_join(asked) { Turn::text("Joined.") } else { work(asked) })
}

fn shell(command: &str) -> Turn {
    Turn::call("developer__shell", json!({ "command": command }))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_independent_tasks_take_about_as_long_as_one() -> anyhow::Result<()> {
    const THINKING: Duration = Duration::from_millis(1_500);
    let mut crew = Crew::new(crew_model(|_| Turn::text("Done.").after(THINKING))?).await?;
    let timed = async |crew: &mut Crew, tasks: &[(&str, &[&str])]| {
        let reply = match tasks.is_empty() {
            true => crew.exchange.reply_to("Hello"),
            false => crew.begin(tasks).await?,
        };
        let begun = Instant::now();
        let records = records(reply).await?;
        ensure!(outcome(&records)? == &done(), "{records:?}");
        anyhow::Ok(begun.elapsed().as_secs_f64())
    };
    let one = timed(&mut crew, &[]).await?;
    let two = timed(&mut crew, &[("A", &[]), ("B", &[])]).await?;
    ensure!(two / one <= 1.2, "two tasks took {two:.2} s, one took {one:.2} s");
    let chain = timed(&mut crew, &[("A", &[]), ("B", &["1"])]).await?;
    ensure!(
        chain / one >= 1.9,
        "the measure tells side by side from one after another: {chain:.2} s, {one:.2} s"
    );
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_keeps_its_order_and_passes_results() -> anyhow::Result<()> {
    let model = crew_model(|asked| match text(asked).contains("Your task:\n\nFind") {
        true => Turn::text("The port is 4711."),
        false => Turn::text("Written."),
    })?;
    let mut crew = Crew::new(model).await?;
    let tasks: &[(&str, &[&str])] = &[("Find the port", &[]), ("Write it down", &["1"]), ("Rest", &[])];
    let records = crew.run(tasks).await?;
    assert_eq!((outcome(&records)?, answer(&records).as_str()), (&done(), "Joined."));
    let course = course(&records);
    let at =
        |what: &str| course.iter().position(|entry| entry == what).context(format!("{what} in {course:?}"));
    ensure!(at("-1 done")? < at("+2")?, "{course:?}");
    ensure!(at("+3")? < at("-1 done")?, "{course:?}");
    let told = &crew.asked_for("Write it down")[0];
    ensure!(told.contains("The port is 4711.") && !told.contains("Rest"), "{told}");
    ensure!(!crew.asked_for("Rest")[0].contains("4711"), "a task sees only the results that it needs");
    ensure!(crew.asked_for("Rest")[0].contains("Do all of it"), "a task sees the whole request");

    let asked = crew.model.asked();
    let join = asked.iter().find(|asked| is_join(asked)).context("the results are joined")?;
    ensure!(join.tool_names().is_empty(), "{:?}", join.tool_names());
    let join = text(join);
    ensure!(join.contains("Do all of it") && join.contains("4711") && join.contains("Written."), "{join}");

    let children = crew.children().await?;
    assert_eq!(children.len(), 3);
    for child in children {
        assert_eq!(child.parent.as_ref(), Some(crew.exchange.session_id()));
        assert_eq!(child.agent.as_deref(), Some("goose-agent/specialist"));
    }
    for record in &records {
        if let Event::TaskStarted { task, .. } | Event::TaskFinished(TaskFinished { task, .. }) =
            &record.event
        {
            assert_eq!(record.task.as_deref(), Some(task.as_str()));
        }
    }
    // What was shown was stored before, and a later message continues a valid conversation.
    let kinds: Vec<&str> =
        crew.steps().await?.iter().map(Step::kind).filter(|kind| kind.starts_with("task")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "task_started").count(), 3, "{kinds:?}");
    assert_eq!((kinds[0], kinds.len()), ("task_plan", 7), "{kinds:?}");
    assert_eq!(outcome(&records_of(&crew, "And now?").await?)?, &done());
    assert_eq!(problem(&crew.exchange.messages()), None);
    crew.exchange.close().await;
    Ok(())
}

async fn records_of(crew: &Crew, text: &str) -> anyhow::Result<Vec<Arc<EventRecord>>> {
    records(crew.exchange.reply_to(text)).await
}

/// Tasks are done by a model whose context holds its tools and little more.
const SMALL_MODEL: &str = "GOOSE_SUBAGENT_PROVIDER: openai
GOOSE_SUBAGENT_MODEL: gpt-4o-mini
models: {gpt-4o-mini: {context_limit: 10000}}
";

fn is_summary(asked: &Asked) -> bool {
    asked.body["messages"][0]["content"]
        .as_str()
        .is_some_and(|text| text.starts_with("You shorten the record"))
}

/// A task that needs two long results.
struct LongResults {
    /// The message that it begins with.
    told: String,
    /// The requests for summaries.
    summaries: Vec<Asked>,
    /// The tokens that it has used.
    tokens: Option<u64>,
}

async fn long_results(config: &str, summary: fn() -> Turn) -> anyhow::Result<LongResults> {
    let model = crew_model(move |asked| match text(asked) {
        _ if is_summary(asked) => summary(),
        text if text.contains("\n\nRead one\n") => {
            Turn::text(format!("{}The port is 4711.", "A line of the first.\n".repeat(1_500)))
        }
        text if text.contains("\n\nRead two\n") => Turn::text("A line of the second.\n".repeat(1_500)),
        _ => Turn::text("Used.").costing(7_000, 1),
    })?;
    let mut crew = Crew::with(model, Permissions::new(PermissionOptions::new(Mode::Auto)), config).await?;
    let records = crew.run(&[("Read one", &[]), ("Read two", &[]), ("Use both", &["1", "2"])]).await?;
    assert_eq!((outcome(&records)?, answer(&records).as_str()), (&done(), "Joined."));
    let tokens = records.iter().find_map(|record| match &record.event {
        Event::TaskFinished(finished) if finished.task == "3" => Some(finished.usage.total()),
        _ => None,
    });
    let summaries: Vec<Asked> = crew.model.asked().into_iter().filter(is_summary).collect();
    let told = crew.asked_for("Use both");
    assert_eq!(told.len(), 1);
    crew.exchange.close().await;
    Ok(LongResults { told: told[0].clone(), summaries, tokens })
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_do_not_fit_into_the_context_of_a_task_are_summarized() -> anyhow::Result<()> {
    let summary = || Turn::text("It says that the port is 4711.").costing(1_000, 10);
    let LongResults { told, summaries, tokens } = long_results(SMALL_MODEL, summary).await?;
    assert_eq!(tokens, Some(7_001 + 2 * 1_010), "the task pays for the summaries");
    assert_eq!(summaries.len(), 2, "each long result once");
    for asked in &summaries {
        assert_eq!(asked.body["model"], "gpt-4o", "the model with the larger context summarizes");
    }
    ensure!(text(&summaries[0]).contains("The port is 4711."), "the summarizer reads all of it");
    assert_eq!(told.matches("It says that the port is 4711.").count(), 2, "{told}");
    ensure!(
        told.contains("Result of the earlier task \"Read one\"") && !told.contains("A line of"),
        "{told}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_cut_where_they_cannot_be_summarized() -> anyhow::Result<()> {
    let LongResults { told, summaries, .. } = long_results(SMALL_MODEL, || Turn::status(400, "No.")).await?;
    ensure!(!summaries.is_empty());
    assert_eq!(told.matches("(Cut here;").count(), 2, "{told}");
    ensure!(told.contains("A line of the first.") && told.contains("A line of the second."), "{told}");
    ensure!(told.len() < 20_000, "{}", told.len());
    let truncate = format!("{SMALL_MODEL}GOOSE_MODERATOR: truncate\n");
    let LongResults { told, summaries, .. } = long_results(&truncate, || Turn::status(400, "No.")).await?;
    ensure!(summaries.is_empty() && told.matches("(Cut here;").count() == 2, "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_fit_cost_no_summary() -> anyhow::Result<()> {
    let LongResults { told, summaries, .. } = long_results("", || Turn::status(400, "No.")).await?;
    ensure!(summaries.is_empty(), "{summaries:?}");
    ensure!(told.contains("A line of the first.") && told.len() > 30_000, "{}", told.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_task_is_tried_once_more_and_reported_without_losing_the_others() -> anyhow::Result<()> {
    let model = crew_model(|asked| match text(asked).contains("Your task:\n\nBreak") {
        true => Turn::status(400, "This model is broken."),
        false => Turn::text("Fine."),
    })?;
    let mut crew = Crew::new(model).await?;
    let records =
        crew.run(&[("Break", &[]), ("Work", &[]), ("Use it", &["1"]), ("Use that", &["3"])]).await?;
    assert_eq!((outcome(&records)?, answer(&records).as_str()), (&done(), "Joined."));
    let course = course(&records);
    let count = |what: &str| course.iter().filter(|entry| *entry == what).count();
    assert_eq!((count("+1"), count("?1"), count("-1 failed")), (2, 1, 1), "{course:?}");
    assert_eq!((count("-2 done"), count("-3 not run"), count("-4 not run")), (1, 1, 1), "{course:?}");
    let asked = crew.asked_for("Break");
    assert_eq!(asked.len(), 2);
    ensure!(!asked[0].contains("earlier attempt"), "{}", asked[0]);
    ensure!(
        asked[1].contains("earlier attempt") && asked[1].contains("This model is broken."),
        "{}",
        asked[1]
    );
    ensure!(crew.asked_for("Use it").is_empty() && crew.asked_for("Use that").is_empty());
    let join = crew.model.asked().iter().find(|asked| is_join(asked)).map(text).context("a join")?;
    ensure!(join.contains("It needs the result of task 1, which is failed."), "{join}");
    ensure!(join.contains("This model is broken."), "{join}");
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_task_is_done_the_reply_fails_with_the_reasons() -> anyhow::Result<()> {
    let mut crew = Crew::new(crew_model(|_| Turn::status(400, "This model is broken."))?).await?;
    let records = crew.run(&[("A", &[]), ("B", &[])]).await?;
    let Outcome::Failed(failure) = outcome(&records)? else { anyhow::bail!("{records:?}") };
    ensure!(
        failure.message.contains("Task 1 is failed") && failure.message.contains("broken"),
        "{failure:?}"
    );
    ensure!(!crew.model.asked().iter().any(is_join), "there is nothing to join");
    crew.exchange.close().await;
    Ok(())
}

fn states(crew: &Crew) -> Vec<TaskState> {
    crew.exchange.tasks().into_iter().map(|task| task.state).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_tasks_survive_a_message_that_cannot_be_answered() -> anyhow::Result<()> {
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
    let model = crew_model(|_| Turn::text("Done."))?;
    let mut crew = Crew::after(model, permissions, "", &half_done()?).await?;
    let agents = crew.world.paths().config.join("agents");
    fs::create_dir_all(&agents)?;
    fs::write(agents.join("mine.yaml"), "name: mine\nmodes: [{slug: backend, tool_groups: [read]}]\n")?;
    for _ in 0..2 {
        let failed = records_of(&crew, "@backend fix it").await?;
        ensure!(matches!(outcome(&failed)?, Outcome::Failed(_)), "{failed:?}");
    }
    crew.exchange.close().await;
    let session = crew.manager.store().open_session(crew.exchange.session_id()).await?;
    crew.reopen(session.into()).await?;
    ensure!(!crew.exchange.cancel_task("2"), "it does not run yet");
    let records = records_of(&crew, "continue").await?;
    assert_eq!(
        (outcome(&records)?, course(&records)),
        (&done(), vec!["+2".to_owned(), "-2 done".to_owned()])
    );
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_tasks_are_over_once_the_user_does_something_else() -> anyhow::Result<()> {
    for is_cleared in [false, true] {
        let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
        let model = crew_model(|_| Turn::text("Fine."))?;
        let crew = Crew::after(model, permissions, "", &half_done()?).await?;
        assert_eq!(states(&crew), [TaskState::Over(TaskEnd::Done), TaskState::Waiting]);
        match is_cleared {
            true => crew.exchange.clear().await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?,
            false => drop(records_of(&crew, "Something else").await?),
        }
        assert_eq!(states(&crew), [TaskEnd::Done, TaskEnd::Cancelled].map(TaskState::Over));
        let records = records_of(&crew, "continue").await?;
        assert_eq!((outcome(&records)?, course(&records)), (&done(), Vec::new()));
        let told = crew.model.asked().iter().any(|asked| text(asked).contains("The first result."));
        assert_eq!(told, !is_cleared);
        crew.exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_of_finished_tasks_count_after_a_resume() -> anyhow::Result<()> {
    for (most, end) in [(100, "-2 not run"), (101, "-2 done")] {
        let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
        let model = crew_model(|_| Turn::text("Done.").costing(0, 0))?;
        let config = format!("orchestrator:\n  max_tokens: {most}\n");
        let crew = Crew::after(model, permissions, &config, &half_done()?).await?;
        let records = records_of(&crew, "continue").await?;
        ensure!(course(&records).contains(&end.to_owned()), "{:?}", course(&records));
        assert_eq!(crew.asked_for("Second").len(), usize::from(most > 100));
        crew.exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tasks_did_is_known_without_their_words() -> anyhow::Result<()> {
    let rule = Rule::parse(Effect::Deny, "shell touch *")?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto).with_rules([rule]));
    let model =
        crew_model(|asked| match (text(asked).contains("\n\nWrite\n"), asked.tool_results().len()) {
            (true, 0) => Turn::call("developer__write", json!({"path": "a.txt", "content": "a"})),
            (false, 0) => shell("touch marker"),
            (false, 1) => shell("exit 3"),
            _ => Turn::text("All is well."),
        })?;
    let mut crew = Crew::with(model, permissions, "").await?;
    let records = crew.run(&[("Write", &[]), ("Run", &[])]).await?;
    let mut facts = Facts::default();
    records.iter().for_each(|record| record.event.add_to(&mut facts));
    assert_eq!((facts.exit_code, facts.calls_refused), (Some(3), 1), "{facts:?}");
    ensure!(facts.files_changed.len() == 1 && facts.files_changed[0].ends_with("a.txt"), "{facts:?}");
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_of_a_task_name_it() -> anyhow::Result<()> {
    let model = crew_model(|_| Turn::text("Done."))?;
    let mut steps = half_done()?;
    let task = json!({"id": "2", "agent": "mine", "mode": "main", "text": "Second"});
    steps[1] = serde_json::from_value(json!({"step": "task_plan", "tasks": [task]}))?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
    let crew = Crew::after(model, permissions, "", &steps).await?;
    let agents = crew.world.paths().config.join("agents");
    fs::create_dir_all(&agents)?;
    let agent =
        "name: mine\nmodes: [{slug: main, tool_groups: [read, nosuch], dependencies: [developer, nosuch]}]\n";
    fs::write(agents.join("mine.yaml"), agent)?;
    let records = records_of(&crew, "continue").await?;
    let is_it = |event: &Event| matches!(event, Event::Notice(text) if text.starts_with("Task 2: ") && text.contains("nosuch"));
    ensure!(records.iter().any(|record| is_it(&record.event)), "{records:?}");
    crew.exchange.close().await;
    Ok(())
}

/// A command that notes its process and waits.
fn waiting(folder: &str, name: &str) -> Turn {
    shell(&format!("echo $$ > {folder}/{name}.new; mv {folder}/{name}.new {folder}/{name}; sleep 600"))
}

async fn pid(crew: &Crew, name: &str) -> anyhow::Result<u32> {
    let marker = crew.world.file(name);
    until("the command has started", || marker.exists()).await?;
    Ok(fs::read_to_string(&marker)?.trim().parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_the_reply_stops_every_task_and_leaves_nothing() -> anyhow::Result<()> {
    let folder = Arc::new(parking_lot::Mutex::new(String::new()));
    let place = Arc::clone(&folder);
    let model = crew_model(move |asked| match text(asked) {
        text if text.contains("\n\nQuick\n") => Turn::text("Quick is done."),
        text if text.contains("\n\nThink\n") => Turn::text("Too late.").after(Duration::from_secs(600)),
        _ => waiting(&place.lock(), "pid"),
    })?;
    let mut crew = Crew::new(model).await?;
    *folder.lock() = crew.folder();
    let mut reply = crew.begin(&[("Quick", &[]), ("Wait", &[]), ("Think", &[]), ("Later", &["2"])]).await?;
    let pid = pid(&crew, "pid").await?;
    until("quick is done", || crew.exchange.tasks()[0].state == TaskState::Over(TaskEnd::Done)).await?;
    ensure!(is_alive(pid));
    let begun = Instant::now();
    reply.cancel();
    let mut last = None;
    while let Some(event) = bounded(reply.next()).await? {
        last = Some(event);
    }
    assert_eq!(last, Some(Event::Finished(Outcome::Cancelled)));
    ensure!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    until("the command has ended", || !is_alive(pid)).await?;
    let requests = crew.model.asked().len();
    ensure!(crew.asked_for("Later").is_empty() && !crew.model.asked().iter().any(is_join));
    let ends = [TaskEnd::Done, TaskEnd::Cancelled, TaskEnd::Cancelled, TaskEnd::Cancelled];
    assert_eq!(states(&crew), ends.map(TaskState::Over));
    // What is done is not lost: the next message carries it.
    bounded(crew.exchange.close()).await?;
    assert_eq!(crew.model.asked().len(), requests);
    let told = crew.exchange.messages().iter().any(|message| {
        message.content.iter().any(|part| part.as_text().is_some_and(|text| text.contains("Quick is done.")))
    });
    ensure!(told, "{:?}", crew.exchange.messages());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_task_can_be_cancelled_alone() -> anyhow::Result<()> {
    let folder = Arc::new(parking_lot::Mutex::new(String::new()));
    let place = Arc::clone(&folder);
    let model = crew_model(move |asked| match text(asked).contains("\n\nWait\n") {
        true => waiting(&place.lock(), "pid"),
        false => Turn::text("Fine."),
    })?;
    let mut crew = Crew::new(model).await?;
    *folder.lock() = crew.folder();
    let reply = crew.begin(&[("Wait", &[]), ("Work", &[]), ("Use it", &["1"])]).await?;
    let pid = pid(&crew, "pid").await?;
    ensure!(!crew.exchange.cancel_task("9"), "there is no such task");
    ensure!(crew.exchange.cancel_task("1"));
    let records = records(reply).await?;
    assert_eq!((outcome(&records)?, answer(&records).as_str()), (&done(), "Joined."));
    let course = course(&records);
    for expected in ["-1 cancelled", "-2 done", "-3 not run"] {
        ensure!(course.iter().any(|entry| entry == expected), "{expected} in {course:?}");
    }
    ensure!(!course.contains(&"?1".to_owned()), "what was cancelled is not tried again: {course:?}");
    until("the command has ended", || !is_alive(pid)).await?;
    ensure!(!crew.exchange.cancel_task("1"), "it is over");
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_running_task_has_changed_is_not_written_by_another() -> anyhow::Result<()> {
    let write =
        |content: &str| Turn::call("developer__write", json!({"path": "shared.txt", "content": content}));
    let model = crew_model(move |asked| {
        let (text, results) = (text(asked), asked.tool_results().len());
        match (text.contains("\n\nFirst\n"), text.contains("\n\nLast\n"), results) {
            (true, _, 0) => write("first"),
            (true, _, 1) => shell("touch written; until [ -e go ]; do sleep 0.01; done"),
            (_, true, 0) => Turn::call("developer__read", json!({"path": "shared.txt"})),
            (_, true, 1) => write("last"),
            (false, false, 0) => shell("until [ -e written ]; do sleep 0.01; done"),
            (false, false, 1) => write("second"),
            (false, false, 2) => shell("echo second > shared.txt"),
            (false, false, 3) => shell("touch go"),
            _ => Turn::text("Done."),
        }
    })?;
    let mut crew = Crew::new(model).await?;
    let records = crew.run(&[("First", &[]), ("Second", &[]), ("Last", &["1"])]).await?;
    assert_eq!(outcome(&records)?, &done());
    let asked = crew.model.asked();
    let last = asked.iter().rfind(|asked| is_for(asked, "Second")).context("the second task was asked")?;
    for (_, refused) in &last.tool_results()[1..3] {
        ensure!(refused.contains("Not run: task 1, which is still running, has changed"), "{refused}");
    }
    ensure!(
        fs::read_to_string(crew.world.file("shared.txt"))?.contains("last"),
        "free once its task is over"
    );
    crew.exchange.close().await;
    Ok(())
}

/// Commands that write what the first task has changed, by name, by a wildcard, and in a folder.
const CONFLICTS: [&str; 10] = [
    "sed -i s/a/b/ shared.txt",
    "mv base other",
    "cp mine shared.txt",
    "cp mine sub/file",
    "echo x | tee -a sub/file",
    "rm shared.*",
    "rm -r sub",
    "cd sub && rm file",
    "sh -c 'rm shared.txt'",
    "ls; perl -pi -e s/a/b/ base",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_command_does_not_write_what_a_running_task_has_changed() -> anyhow::Result<()> {
    let model = crew_model(move |asked| {
        let (is_first, results) = (text(asked).contains("\n\nFirst\n"), asked.tool_results().len());
        match (is_first, results) {
            (true, 0) => shell("mkdir sub; echo a > base; cp base shared.txt; echo b | tee sub/file"),
            (true, 1) => shell("touch written; until [ -e go ]; do sleep 0.01; done"),
            (false, 0) => shell("until [ -e written ]; do sleep 0.01; done; echo c > mine"),
            (false, 1..=10) => shell(CONFLICTS[results - 1]),
            (false, 11) => Turn::call("developer__write", json!({"path": "sub/file", "content": "c"})),
            (false, 12) => shell("cp shared.txt copy && cat sub/file >> copy && rm mine"),
            (false, 13) => shell("touch go"),
            _ => Turn::text("Done."),
        }
    })?;
    let mut crew = Crew::new(model).await?;
    let records = crew.run(&[("First", &[]), ("Second", &[])]).await?;
    assert_eq!(outcome(&records)?, &done());
    let asked = crew.model.asked();
    let last = asked.iter().rfind(|asked| is_for(asked, "Second")).context("the second task was asked")?;
    let results = last.tool_results();
    for ((_, refused), command) in results[1..12].iter().zip(CONFLICTS.iter().chain(&["write"])) {
        let reason = "Not run: task 1, which is still running, has changed";
        ensure!(refused.contains(reason), "{command}: {refused}");
    }
    ensure!(!results[12].1.contains("Not run"), "reading and its own files are free: {}", results[12].1);
    let read = |name: &str| fs::read_to_string(crew.world.file(name));
    assert_eq!(
        (read("shared.txt")?, read("base")?, read("copy")?),
        ("a\n".into(), "a\n".into(), "a\nb\n".into())
    );
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_name_the_same_file_or_folder_run_one_after_another() -> anyhow::Result<()> {
    for (one, two, expected) in [
        ("src/shop.rs", "src/shop.rs", ["+1", "-1 done", "+2", "-2 done"]),
        ("src/shop/", "src/shop/page.css", ["+1", "-1 done", "+2", "-2 done"]),
        ("src/shop/", "src/shopping.css", ["+1", "+2", "-1 done", "-2 done"]),
    ] {
        let model = crew_model(|asked| match text(asked).starts_with("Your task:\n\nAdd a REST") {
            true => Turn::text("The endpoint is there.").after(Duration::from_millis(200)),
            false => Turn::text("Restyled.").after(Duration::from_millis(600)),
        })?;
        let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
        let crew = Crew::with(model, permissions, "orchestrator: {split: auto}\n").await?;
        let request = format!(
            "1. Add a REST endpoint for invoices in {one}\n\
             2. Restyle the buttons of the React checkout page in {two}"
        );
        let records = records_of(&crew, &request).await?;
        assert_eq!(course(&records), expected, "{one} {two}");
        let asked = crew.model.asked();
        let told = asked.iter().map(text).find(|text| text.starts_with("Your task:\n\nRestyle"));
        let told = told.context("the second task was asked")?;
        let has_result = told.contains("The endpoint is there.");
        assert_eq!(
            has_result,
            expected[1] == "-1 done",
            "it has the result of the task that it waits for: {told}"
        );
        ensure!(told.contains("1. Add a REST endpoint") && told.contains(">>> Restyle"), "{told}");
        crew.exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_of_tasks_queue_and_name_the_task() -> anyhow::Result<()> {
    let model = crew_model(|asked| match asked.tool_results().len() {
        0 => shell("touch marker"),
        _ => Turn::text("Done."),
    })?;
    let mut crew = Crew::with(model, Permissions::new(PermissionOptions::new(Mode::Approve)), "").await?;
    let mut reply = crew.begin(&[("A", &[]), ("B", &[])]).await?;
    let mut askers = Vec::new();
    while let Some(record) = bounded(reply.next_record()).await? {
        if let Event::Approval(approval) = &record.event {
            // The other one waits as well by now, or will: the user sees one question at a time.
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(crew.exchange.questions().len(), 1);
            askers.extend(record.task.as_deref().map(str::to_owned));
            ensure!(reply.answer(&approval.id, Decision::Allow));
        }
    }
    askers.sort();
    assert_eq!(askers, ["1", "2"]);
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_is_denied_inside_a_task() -> anyhow::Result<()> {
    let rule = Rule::parse(Effect::Deny, "shell touch *")?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto).with_rules([rule]));
    let model = crew_model(|asked| match asked.tool_results().len() {
        0 => shell("touch marker"),
        _ => Turn::text("It was denied."),
    })?;
    let mut crew = Crew::with(model, permissions, "").await?;
    assert_eq!(outcome(&crew.run(&[("A", &[]), ("B", &[])]).await?)?, &done());
    let asked = crew.model.asked();
    let results: Vec<_> = asked.iter().flat_map(Asked::tool_results).collect();
    assert_eq!(results.len(), 2);
    for (_, result) in results {
        ensure!(result.contains("Not run:") && result.contains("forbids"), "{result}");
    }
    ensure!(!crew.world.file("marker").exists());
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_joined_answer_the_results_come_under_headings() -> anyhow::Result<()> {
    let model = ModelServer::answering(|asked| match text(asked) {
        text if text.contains(JOIN) => Turn::status(400, "This model joins nothing."),
        text if text.contains("\n\nA\n") => Turn::text("Result of A."),
        _ => Turn::text("Result of B."),
    })?;
    let mut crew = Crew::new(model).await?;
    let records = crew.run(&[("A", &[]), ("B", &[])]).await?;
    assert_eq!(outcome(&records)?, &done());
    let says_why = |event: &Event| matches!(event, Event::Notice(notice) if notice.contains("joins nothing"));
    ensure!(records.iter().any(|record| says_why(&record.event)), "{records:?}");
    assert_eq!(
        answer(&records),
        "## 1. A (goose-agent/specialist: done)\n\nResult of A.\n\n## 2. B (goose-agent/specialist: done)\n\nResult of B.\n"
    );
    assert_eq!(problem(&crew.exchange.messages()), None);
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_known_for_each_task_and_in_sum() -> anyhow::Result<()> {
    let model = ModelServer::answering(|asked| match text(asked) {
        text if text.contains(JOIN) => Turn::text("Joined.").costing(1_000, 100),
        text if text.contains("\n\nA\n") => Turn::text("A.").costing(10, 1),
        _ => Turn::text("B.").costing(20, 2),
    })?;
    let mut crew = Crew::new(model).await?;
    let records = crew.run(&[("A", &[]), ("B", &[])]).await?;
    let mut usages = Vec::new();
    for record in &records {
        match &record.event {
            Event::TaskFinished(TaskFinished { task, usage, .. }) => {
                usages.push((task.clone(), usage.total()))
            }
            Event::TasksFinished { usage, .. } => usages.push(("sum".to_owned(), usage.total())),
            _ => {}
        }
    }
    usages.sort();
    assert_eq!(usages, [("1".to_owned(), 11), ("2".to_owned(), 22), ("sum".to_owned(), 33)]);
    let spent: u64 = crew
        .steps()
        .await?
        .iter()
        .map(|step| match step {
            Step::Cost { usage, .. } => usage.total(),
            _ => 0,
        })
        .sum();
    assert_eq!(spent, 1_133, "the session pays for the tasks and for the answer");
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_used_up_end_the_tasks() -> anyhow::Result<()> {
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
    let model = crew_model(|_| Turn::text("Done.").costing(90, 10))?;
    let mut crew = Crew::with(model, permissions, "orchestrator:\n  max_tokens: 150\n").await?;
    let records = crew.run(&[("A", &[]), ("B", &["1"]), ("C", &["2"])]).await?;
    assert_eq!(outcome(&records)?, &done());
    let course = course(&records);
    ensure!(course.contains(&"-3 not run".to_owned()), "{course:?}");
    ensure!(crew.asked_for("C").is_empty());
    let join = crew.model.asked().iter().find(|asked| is_join(asked)).map(text).context("a join")?;
    ensure!(join.contains("orchestrator.max_tokens"), "{join}");
    crew.exchange.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_decides_in_every_mode_whether_a_list_is_split() -> anyhow::Result<()> {
    let modes = [Mode::Auto, Mode::SmartApprove, Mode::Approve];
    let decisions = [PlanDecision::Run, PlanDecision::AsOne, PlanDecision::Cancel];
    for (mode, decision) in modes.into_iter().zip(decisions) {
        let permissions = Permissions::new(PermissionOptions::new(mode));
        let crew = Crew::with(crew_model(|_| Turn::text("Done."))?, permissions, "").await?;
        crew.exchange.set_attended(true);
        let mut reply = crew.exchange.reply_to(LIST);
        let mut last = None;
        let mut plans = 0;
        while let Some(event) = bounded(reply.next()).await? {
            if let Event::TaskPlan(plan) = &event {
                plans += 1;
                ensure!(plan.is_question && plan.tasks.len() == 2, "{plan:?}");
                ensure!(crew.model.asked().is_empty(), "nothing runs before the answer");
                ensure!(reply.answer(&plan.id, decision));
            }
            last = Some(event);
        }
        assert_eq!(plans, 1);
        let asked = crew.model.asked();
        let (expected, requests) = match decision {
            PlanDecision::Run => (done(), 3),
            PlanDecision::AsOne => (done(), 1),
            _ => (Outcome::Cancelled, 0),
        };
        assert_eq!((last, asked.len()), (Some(Event::Finished(expected)), requests), "{decision:?}");
        if decision == PlanDecision::AsOne {
            ensure!(text(&asked[0]).ends_with(LIST), "{}", text(&asked[0]));
            assert_eq!(crew.exchange.agent().id(), "goose-agent/assistant", "it can do all of it");
        }
        crew.exchange.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_checked_where_that_is_switched_on() -> anyhow::Result<()> {
    const FAILED: &str = r#"{"pass": false, "reasons": ["B has no test."]}"#;
    const PASSED: &str = r#"{"pass": true, "reasons": ["All is there."]}"#;
    let is_judge = |asked: &Asked| text(asked).contains("<criteria>");
    for (config, tool, second, expected) in [
        ("orchestrator:\n  check: true\n", "", FAILED, vec![false, false]),
        ("orchestrator:\n  check: true\n", "developer__write", FAILED, vec![false, false]),
        ("orchestrator:\n  check: true\n", "developer__write", PASSED, vec![false, true]),
        ("orchestrator:\n  check: true\n", "developer__tree", FAILED, vec![]),
        ("", "developer__write", FAILED, vec![]),
    ] {
        let verdicts = std::sync::Mutex::new(vec![second, FAILED]);
        let model = crew_model(move |asked| match asked.tool_results().len() {
            _ if is_judge(asked) => Turn::text(verdicts.lock().unwrap().pop().unwrap_or(FAILED)),
            0 if text(asked).ends_with("Change it") => match tool {
                "developer__write" => Turn::call(tool, json!({"path": "a.txt", "content": "a"})),
                _ => Turn::call(tool, json!({"path": "."})),
            },
            _ => Turn::text("Done."),
        })?;
        let permissions = Permissions::new(PermissionOptions::new(Mode::Auto));
        let mut crew = Crew::with(model, permissions, config).await?;
        let records = match tool {
            "" => crew.run(&[("A", &[]), ("B", &[])]).await?,
            _ => records_of(&crew, "Change it").await?,
        };
        assert_eq!(outcome(&records)?, &done());
        let checked = records.iter().filter_map(|record| match &record.event {
            Event::Checked(verdict) => Some(verdict.pass),
            _ => None,
        });
        assert_eq!(checked.collect::<Vec<_>>(), expected, "{config} {tool}");
        let asked = crew.model.asked();
        let told_again = asked.iter().any(|asked| text(asked).contains("A check of your result"));
        assert_eq!(told_again, !expected.is_empty(), "the agent gets the verdict once: {tool}");
        let last = crew.exchange.messages().last().map(|message| message.text()).unwrap_or_default();
        let is_reported = last.contains("does not meet the request") && last.contains("B has no test.");
        assert_eq!(is_reported, expected == [false, false], "{tool}: {last}");
        if let Some(judge) = asked.iter().find(|asked| is_judge(asked)) {
            let judge = text(judge);
            ensure!(judge.contains("Do all of it") || judge.contains("Change it"), "{judge}");
        }
        assert_eq!(problem(&crew.exchange.messages()), None);
        crew.exchange.close().await;
    }
    Ok(())
}
