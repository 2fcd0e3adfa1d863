//! [`Runs`]: replies to messages of clients, each with a log of its events in the vocabulary of the Agent Communication
//! Protocol, which A2A translates.
//!
//! A run goes on when its client disconnects. Its events are numbered from 1 within an epoch, and can be read again
//! from any number: from memory while the run is remembered, later from the steps of its session, in another epoch.

mod log;
pub(crate) mod stored;

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use goose::{
    exchange::{Answer, Exchange, Reply},
    session::SessionId,
};
use goose_extension::{ContentBlock, Message as GooseMessage, MessageContent};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::log::RunLog;
use crate::{
    agent_communication::models::{self, Event, RunStatus},
    error::{ApiError, ApiResult},
    ids::Uuid,
    limits::Permit,
    metrics::Metrics,
    sessions::OpenSession,
};

/// Time for which a run that has ended is kept in memory.
const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// Maximum number of runs that have ended and are kept in memory.
const MAX_KEPT: usize = 2_000;

/// `_meta` key of the id that ties a message of a client to its run.
const RUN_META: &str = "goose/run-id";

/// Runs of the server.
pub(crate) struct Runs {
    runs: Mutex<HashMap<Uuid, Arc<Run>>>,
    /// Run of each session that has not ended.
    active: Arc<Mutex<HashMap<SessionId, Uuid>>>,
    metrics: Arc<Metrics>,
    /// Number of runs that have not ended.
    running: watch::Sender<usize>,
    #[cfg(feature = "otel")]
    traces: Option<Arc<crate::traces::Exporter>>,
}

/// Run of an agent: a reply to one message.
pub(crate) struct Run {
    pub(crate) id: Uuid,
    pub(crate) session: SessionId,
    /// Name of the agent as it is listed.
    pub(crate) agent: String,
    created_at: Timestamp,
    log: Mutex<RunLog>,
    /// Number of the last event.
    last: watch::Sender<u64>,
    live: Mutex<Option<LiveRun>>,
}

/// Connection of a run to its session, while this process has it.
struct LiveRun {
    session: OpenSession,
    cancellation: CancellationToken,
}

/// Events after a number.
pub(crate) struct RunEvents {
    /// Epoch of the numbers.
    pub(crate) epoch: String,
    /// Events with their numbers.
    pub(crate) events: Vec<(u64, Arc<Event>)>,
    /// Number up to which a reader has read now.
    pub(crate) position: u64,
}

impl Runs {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            runs: Mutex::default(),
            active: Arc::default(),
            metrics,
            running: watch::Sender::new(0),
            #[cfg(feature = "otel")]
            traces: None,
        }
    }

    /// Sends traces of the runs.
    #[cfg(feature = "otel")]
    pub(crate) fn with_traces(self, exporter: Arc<crate::traces::Exporter>) -> Self {
        Self { traces: Some(exporter), ..self }
    }

    /// Sends the last traces.
    #[cfg(feature = "otel")]
    pub(crate) async fn end_traces(&self) {
        if let Some(exporter) = &self.traces {
            exporter.end().await;
        }
    }

    /// Starts a run in a session. A message with the id of an earlier run returns that run.
    pub(crate) fn start(
        self: &Arc<Self>,
        session: OpenSession,
        agent: String,
        mut message: GooseMessage,
        id: Uuid,
        permit: Permit,
    ) -> ApiResult<Arc<Run>> {
        let session_id = session.exchange().session_id().clone();
        let mut runs = self.runs.lock();
        if let Some(earlier) = runs.get(&id) {
            return Ok(Arc::clone(earlier));
        }
        let mut active = self.active.lock();
        if active.contains_key(&session_id) {
            return Err(busy(&session_id));
        }
        mark(&mut message, id);
        let reply = session.exchange().reply_to(message);
        let live = LiveRun { cancellation: reply.cancellation(), session };
        let run = Arc::new(Run::new(id, session_id.clone(), agent, Timestamp::now(), Some(live)));
        active.insert(session_id, id);
        runs.insert(id, Arc::clone(&run));
        drop((active, runs));
        self.metrics.runs.enter();
        self.metrics.runs_started.fetch_add(1, Ordering::Relaxed);
        self.running.send_modify(|running| *running += 1);
        tokio::spawn(Arc::clone(self).follow(Arc::clone(&run), reply, permit));
        Ok(run)
    }

    async fn follow(self: Arc<Self>, run: Arc<Run>, mut reply: Reply, permit: Permit) {
        #[cfg(feature = "otel")]
        let mut trace = self.trace(&run);
        while let Some(record) = reply.next_record().await {
            self.metrics.events.fetch_add(1, Ordering::Relaxed);
            #[cfg(feature = "otel")]
            if let Some(trace) = &mut trace {
                trace.take(&record);
            }
            run.change(|log| log.take(&record));
        }
        let (folder, artifacts) = run.artifacts();
        let parts = match folder.filter(|_| !artifacts.is_empty()) {
            Some(folder) => tokio::task::spawn_blocking(move || log::read_artifacts(&folder, &artifacts))
                .await
                .unwrap_or_default(),
            None => Vec::new(),
        };
        // Before the readers learn of the end: a client may begin its next run at once.
        self.active.lock().remove(&run.session);
        run.change(|log| log.end(parts));
        // The session may be closed now.
        drop(run.live.lock().take());
        drop(permit);
        #[cfg(feature = "otel")]
        drop(trace);
        self.metrics.runs.leave();
        self.running.send_modify(|running| *running -= 1);
    }

    #[cfg(feature = "otel")]
    fn trace(&self, run: &Run) -> Option<crate::traces::RunTrace> {
        let live = run.live.lock();
        let exchange = live.as_ref()?.session.exchange();
        Some(crate::traces::RunTrace::begin(self.traces.as_ref()?, &run.agent, &run.session, exchange))
    }

    /// Returns a run that is in memory.
    pub(crate) fn get(&self, id: &Uuid) -> Option<Arc<Run>> {
        self.runs.lock().get(id).cloned()
    }

    /// Returns all runs that are in memory.
    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.runs.lock().values().cloned().collect()
    }

    /// Keeps a run that was read from the store.
    pub(crate) fn keep(&self, run: Run) -> Arc<Run> {
        let run = Arc::new(run);
        Arc::clone(self.runs.lock().entry(run.id).or_insert(run))
    }

    /// Returns the run of a session that has not ended.
    pub(crate) fn active(&self, session: &SessionId) -> Option<Arc<Run>> {
        let id = *self.active.lock().get(session)?;
        self.get(&id)
    }

    /// Drops runs from memory that have ended some time ago.
    pub(crate) fn forget_old(&self) {
        let mut runs = self.runs.lock();
        runs.retain(|_, run| run.ended_for().is_none_or(|time| time < KEPT_FOR));
        let mut ended: Vec<_> = runs.values().filter_map(|run| Some((run.ended_for()?, run.id))).collect();
        ended.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        for (_, id) in ended.iter().take(ended.len().saturating_sub(MAX_KEPT)) {
            runs.remove(id);
        }
    }

    /// Waits until all runs have ended.
    pub(crate) async fn all_ended(&self) {
        // The sender lives as long as this.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}

fn busy(session: &SessionId) -> ApiError {
    let message = format!("A run is going on in the session {session}. Wait for its end, or cancel it.");
    ApiError::conflict("session_busy", message)
}

/// Marks a message with its run, so that the stored message tells it after a restart.
fn mark(message: &mut GooseMessage, id: Uuid) {
    let texts = message.content.iter_mut().filter_map(|part| match part {
        MessageContent::Block(ContentBlock::Text(text)) => Some(text),
        _ => None,
    });
    match texts.into_iter().next() {
        Some(text) => {
            let mut meta = text.meta.take().unwrap_or_default();
            meta.0.insert(RUN_META.to_owned(), json!(id));
            text.meta = Some(meta);
        }
        None => {
            message.content.push(MessageContent::text(""));
            mark(message, id);
        }
    }
}

impl Run {
    fn new(
        id: Uuid,
        session: SessionId,
        agent: String,
        created_at: Timestamp,
        live: Option<LiveRun>,
    ) -> Self {
        let log = RunLog::new(&agent);
        let run = Self {
            id,
            session,
            agent,
            created_at,
            log: Mutex::new(log),
            last: watch::Sender::new(0),
            live: Mutex::new(live),
        };
        run.change(RunLog::begin);
        run
    }

    /// Changes the log, and wakes its readers.
    fn change(&self, change: impl FnOnce(&mut RunLog)) {
        let mut log = self.log.lock();
        change(&mut log);
        let changes = log.take_changes();
        for change in changes {
            let event = match change {
                log::Change::Event(event) => *event,
                log::Change::Status(make) => make(self.model_of(&log)),
            };
            log.push(event);
        }
        let last = log.last();
        drop(log);
        self.last.send_replace(last);
    }

    fn model_of(&self, log: &RunLog) -> models::Run {
        models::Run {
            run_id: self.id,
            agent_name: self.agent.clone(),
            session_id: Uuid::of_session(&self.session),
            status: log.status,
            await_request: log.question().and_then(|record| {
                crate::questions::Question::of(record).map(|question| question.to_await(&self.agent))
            }),
            output: log.output.clone(),
            error: log.error.clone(),
            created_at: self.created_at,
            finished_at: log.finished_at,
        }
    }

    /// Returns the run as the protocol has it.
    pub(crate) fn model(&self) -> models::Run {
        self.model_of(&self.log.lock())
    }

    pub(crate) fn status(&self) -> RunStatus {
        self.log.lock().status
    }

    /// Returns the number of the last event.
    pub(crate) fn last(&self) -> u64 {
        self.log.lock().last()
    }

    fn ended_for(&self) -> Option<Duration> {
        self.log.lock().ended.map(|at: Instant| at.elapsed())
    }

    fn artifacts(&self) -> (Option<std::path::PathBuf>, Vec<String>) {
        let folder = self.live.lock().as_ref().map(|live| live.session.folder.clone());
        (folder, self.log.lock().changed_files())
    }

    /// Returns the events after a number of an epoch. A reader of another epoch gets all events, and one that is too
    /// far behind gets the present run first.
    pub(crate) fn events(&self, epoch: Option<&str>, after: u64) -> RunEvents {
        let log = self.log.lock();
        let after = if epoch.is_none_or(|epoch| epoch == log.epoch) { after } else { 0 };
        let mut events = log.events(after);
        if after < log.dropped() {
            let run = self.model_of(&log);
            events.insert(0, (log.dropped(), Arc::new(Event::RunInProgress { run })));
        }
        RunEvents { epoch: log.epoch.clone(), events, position: log.last() }
    }

    /// Waits until there is an event after a number.
    pub(crate) async fn more(&self, after: u64) {
        // The sender lives as long as this.
        let _ = self.last.subscribe().wait_for(|last| *last > after).await;
    }

    /// Waits until the run has ended, or waits for an answer.
    pub(crate) async fn stopped(&self) {
        let mut last = self.last.subscribe();
        loop {
            let status = self.status();
            if status.is_terminal() || status == RunStatus::Awaiting {
                return;
            }
            if last.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the run has ended, or the server stops.
    pub(crate) async fn stopped_for_good(&self, stop: &CancellationToken) {
        let mut last = self.last.subscribe();
        while !self.status().is_terminal() {
            tokio::select! {
                changed = last.changed() => if changed.is_err() { return },
                () = stop.cancelled() => return,
            }
        }
    }

    /// Answers the question that the run waits for.
    pub(crate) fn answer(
        &self,
        make: impl FnOnce(&goose::exchange::EventRecord) -> ApiResult<Answer>,
    ) -> ApiResult<()> {
        let none = || ApiError::conflict("not_awaiting", format!("The run {} waits for no answer.", self.id));
        let record = self.log.lock().question().cloned().ok_or_else(none)?;
        let answer = make(&record)?;
        let exchange = self.exchange().ok_or_else(none)?;
        let id = record.event.question_id().unwrap_or_default();
        match exchange.answer(id, answer) {
            // Not left to the event, which comes a moment later: a client may ask for the status at once.
            true => self.change(|log| log.answered(id)),
            false => return Err(none()),
        }
        Ok(())
    }

    /// Cancels the run. It ends a moment later.
    pub(crate) fn cancel(&self) -> ApiResult<()> {
        let mut log = self.log.lock();
        if log.status.is_terminal() {
            let message = format!("The run {} has ended already.", self.id);
            return Err(ApiError::conflict("ended", message));
        }
        log.status = RunStatus::Cancelling;
        drop(log);
        if let Some(live) = &*self.live.lock() {
            live.cancellation.cancel();
        }
        Ok(())
    }

    fn exchange(&self) -> Option<Exchange> {
        self.live.lock().as_ref().map(|live| live.session.exchange().clone())
    }
}
