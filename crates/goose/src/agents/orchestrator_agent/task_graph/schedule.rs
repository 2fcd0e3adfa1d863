//! Runs the tasks of a graph, each as a delegate: concurrently, except for tasks that wait for others.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use goose_extension::{ToolError, ToolResult};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{RequestHandler, graph::TaskGraph, texts};
use crate::{
    exchange::{
        Abort, DelegateEnd, DelegateTask, Event, GraphPlace, MAX_AT_ONCE, StepResult, TaskState, TaskWriter,
        UsageLedger, used_up,
    },
    session::{Step, TaskEnd, TaskFinished},
};

/// Time limit for tasks to end after a cancellation.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Result of a task that the user cancelled.
const CANCELLED: &str = "Cancelled by the user.";

/// The running tasks, and what they share.
struct RunningTasks {
    delegates: FuturesUnordered<BoxFuture<'static, (usize, DelegateEnd)>>,
    /// Cancels all tasks. It is also cancelled when this is dropped.
    all: CancellationToken,
    _end_all: DropGuard,
    ledger: Arc<UsageLedger>,
    /// Cancelled when the token budget is used up.
    used_up: CancellationToken,
}

/// The next event of the schedule.
enum Next {
    Cancelled,
    Ended(usize, Box<DelegateEnd>),
    /// A task may have been cancelled, or the token budget is used up.
    Look,
}

impl RequestHandler<'_> {
    /// Runs the unfinished tasks until all of them are over.
    pub(super) async fn schedule(&mut self, graph: &mut TaskGraph) -> StepResult<()> {
        let mut running = self.nothing_running(graph);
        self.orchestrator.board.begin(graph, &running.all);
        loop {
            if running.used_up.is_cancelled() && graph.stopped.is_none() {
                graph.stopped = Some(used_up(self.orchestrator.settings.max_tokens));
                running.all.cancel();
            }
            self.end_hopeless(graph).await?;
            while running.delegates.len() < MAX_AT_ONCE
                && let Some(at) = graph.ready()
            {
                self.start_task(graph, at, &mut running).await?;
            }
            self.orchestrator.board.update(graph);
            if running.delegates.is_empty() && graph.tasks.iter().all(|task| task.ended().is_some()) {
                break;
            }
            match self.next(&mut running, graph.stopped.is_none()).await {
                Next::Cancelled => return Err(self.cancel_tasks(graph, running).await),
                Next::Ended(at, end) => self.take_end(graph, at, *end).await?,
                Next::Look => {}
            }
        }
        let (usage, dollars) = graph.spent();
        self.work.emit(Event::TasksFinished { usage, dollars });
        self.work.report_session_cost();
        Ok(())
    }

    fn nothing_running(&self, graph: &TaskGraph) -> RunningTasks {
        let (all, used_up) = (self.work.context.tasks.ended.child_token(), CancellationToken::new());
        let most = self.orchestrator.settings.max_tokens;
        RunningTasks {
            delegates: FuturesUnordered::new(),
            _end_all: all.clone().drop_guard(),
            all,
            ledger: UsageLedger::part_of(&self.work.context.usage, graph.spent().0, most, used_up.clone()),
            used_up,
        }
    }

    async fn next(&self, running: &mut RunningTasks, has_tokens: bool) -> Next {
        let is_idle = running.delegates.is_empty();
        tokio::select! {
            biased;
            () = self.work.cancellation.cancelled() => Next::Cancelled,
            () = running.used_up.cancelled(), if has_tokens => Next::Look,
            Some((at, end)) = running.delegates.next(), if !is_idle => Next::Ended(at, Box::new(end)),
            () = self.orchestrator.board.changed() => Next::Look,
        }
    }

    /// Ends the tasks that cannot run any more, and those that were cancelled before they started.
    async fn end_hopeless(&mut self, graph: &mut TaskGraph) -> StepResult<()> {
        for at in 0..graph.tasks.len() {
            let is_cancelled = self.orchestrator.board.cancellation(at).is_cancelled();
            if graph.tasks[at].state == TaskState::Waiting && is_cancelled && graph.stopped.is_none() {
                self.end_task(graph, at, TaskEnd::Cancelled, CANCELLED.to_owned()).await?;
            }
        }
        while let Some((at, reason)) = graph.hopeless() {
            self.end_task(graph, at, TaskEnd::NotRun, reason).await?;
        }
        Ok(())
    }

    /// Starts a task. Its session is stored before it does anything.
    async fn start_task(
        &mut self,
        graph: &mut TaskGraph,
        at: usize,
        running: &mut RunningTasks,
    ) -> StepResult<()> {
        let delegates = Arc::clone(&self.orchestrator.delegates);
        let prepared = match self.delegate_task(graph, at, running) {
            Ok(task) => delegates.prepare(task, "").await,
            Err(error) => Err(error),
        };
        let task = &mut graph.tasks[at];
        task.attempts += 1;
        task.is_resumed = false;
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                return self.take_end(graph, at, DelegateEnd::without_session(error)).await;
            }
        };
        task.state = TaskState::Running;
        task.session = Some(prepared.session.clone());
        let (id, session, attempt) = (task.planned.id.clone(), prepared.session.clone(), task.attempts);
        self.work.record(Step::TaskStarted { task: id.clone(), session: session.clone(), attempt }).await?;
        self.work.events.of_task(&id).emit(Event::TaskStarted { task: id, session, attempt });
        let mut delegate = prepared.start();
        running.delegates.push(async move { (at, delegate.end().await) }.boxed());
        Ok(())
    }

    fn delegate_task(
        &self,
        graph: &TaskGraph,
        at: usize,
        running: &RunningTasks,
    ) -> ToolResult<DelegateTask> {
        let task = &graph.tasks[at];
        let agent = self.orchestrator.delegates.catalog().find(&task.planned.agent_id());
        let agent = agent.map_err(ToolError::execution)?;
        Ok(DelegateTask {
            prompt: texts::prompt(graph, task, self.work.state.conversation.messages()),
            graph: Some(GraphPlace {
                task: task.planned.id.clone(),
                writer: TaskWriter::new(&graph.writes, &task.planned.id),
                payer: Arc::clone(&running.ledger),
                cancellation: self.orchestrator.board.cancellation(at),
                resumed: task.session.clone().filter(|_| task.is_resumed),
            }),
            ..DelegateTask::new(agent, &task.planned.text)
        })
    }

    /// Records the end of an attempt. A failed task is tried once more.
    async fn take_end(&mut self, graph: &mut TaskGraph, at: usize, end: DelegateEnd) -> StepResult<()> {
        let task = &mut graph.tasks[at];
        task.spend(end.usage, end.dollars);
        task.facts.exit_code = None;
        task.facts.add(&end.facts);
        let is_cancelled = self.orchestrator.board.cancellation(at).is_cancelled();
        let (ended, text) = match (end.result, &graph.stopped) {
            (Ok(text), _) => (TaskEnd::Done, text),
            (Err(_), Some(reason)) => (TaskEnd::Failed, reason.clone()),
            (Err(_), None) if is_cancelled => (TaskEnd::Cancelled, CANCELLED.to_owned()),
            (Err(error), None) if !task.may_be_tried_again() => (TaskEnd::Failed, error.to_string()),
            (Err(error), None) => {
                let (id, reason) = (task.planned.id.clone(), error.to_string());
                (task.state, task.failure) = (TaskState::Waiting, Some(reason.clone()));
                graph.writes.release(&id);
                self.work.events.of_task(&id).emit(Event::TaskRetried { task: id, reason });
                return Ok(());
            }
        };
        self.end_task(graph, at, ended, text).await
    }

    /// Stores and shows the end of a task.
    async fn end_task(
        &mut self,
        graph: &mut TaskGraph,
        at: usize,
        end: TaskEnd,
        result: String,
    ) -> StepResult<()> {
        let task = &mut graph.tasks[at];
        let (id, usage, dollars, facts) =
            (task.planned.id.clone(), task.usage, task.dollars, task.facts.clone());
        (task.state, task.result) = (TaskState::Over(end), result.clone());
        graph.writes.release(&id);
        let finished = TaskFinished { task: id.clone(), end, result, usage, dollars, facts };
        let mut steps = self.work.context.usage.take_unsaved();
        steps.push(Step::TaskFinished(finished.clone()));
        self.work.record_all(steps).await?;
        self.work.events.of_task(&id).emit(Event::TaskFinished(finished));
        Ok(())
    }

    /// Ends all tasks because the user cancelled the reply. The model keeps the results of finished tasks.
    async fn cancel_tasks(&mut self, graph: &mut TaskGraph, mut running: RunningTasks) -> Abort {
        running.all.cancel();
        let deadline = Instant::now() + CANCEL_GRACE;
        while let Ok(Some((at, end))) = timeout_at(deadline, running.delegates.next()).await {
            if let Err(abort) = self.take_end(graph, at, end).await {
                return abort;
            }
        }
        self.orchestrator.board.update(graph);
        self.keep_results(graph).await.err().unwrap_or(Abort::Cancelled)
    }
}
