//! Running the tools of one answer, side by side. Those that a person must allow are asked about one at a time, while
//! the others run already. Whatever becomes of a call, it has a result in the end.

use std::{collections::VecDeque, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use goose_extension::{CallContext, ContentBlock, Model, ToolError, ToolOutput, ToolResult};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    approve::Pending,
    check::{Asked, Call, Checked, Settled},
    core::Core,
    event::{Event, ToolEnd},
    reply_task::{Abort, ReplyTask, StepResult},
    side::Side,
    usage_ledger::SamplingModel,
};

/// How long tools may take to end once they were cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// A call that has ended.
pub(super) struct Ended {
    id: String,
    name: String,
    result: ToolResult<ToolOutput>,
    note: Option<String>,
}

/// The calls of one answer that are under way.
pub(super) struct Running {
    calls: JoinSet<Ended>,
    /// Ends all of them, also when this is dropped.
    cancellation: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

impl ReplyTask {
    /// Does what was decided about each call, until all have a result.
    pub(super) async fn run_tools(&mut self, checked: Vec<Checked>) -> StepResult<()> {
        if checked.is_empty() {
            return Ok(());
        }
        let mut running = Running::new(&self.cancellation);
        let mut to_ask = VecDeque::new();
        for checked in checked {
            match checked {
                Checked::Ask(call, asked) => to_ask.push_back((call, asked)),
                Checked::Settled(decided) => self.begin_call(decided, &mut running).await?,
            }
        }
        let ended = self.until_all_ended(&mut running, to_ask).await;
        if let Err(Abort::Cancelled) = ended {
            self.drain_cancelled(&mut running).await?;
        }
        self.flush_usage().await?;
        ended
    }

    async fn until_all_ended(
        &mut self,
        running: &mut Running,
        mut to_ask: VecDeque<(Call, Asked)>,
    ) -> StepResult<()> {
        let mut pending: Option<Pending> = None;
        let cancellation = self.cancellation.clone();
        loop {
            if pending.is_none()
                && let Some((call, asked)) = to_ask.pop_front()
            {
                pending = Some(self.ask_person(call, asked));
            }
            if pending.is_none() && running.calls.is_empty() {
                return Ok(());
            }
            tokio::select! {
                biased;
                () = cancellation.cancelled() => return Err(Abort::Cancelled),
                Some(ended) = running.calls.join_next(), if !running.calls.is_empty() => {
                    self.take_ended(ended).await?;
                }
                decided = Pending::decided(&mut pending) => {
                    let decided = self.after_decision(decided).await?;
                    pending = None;
                    self.begin_call(decided, running).await?;
                }
            }
        }
    }

    /// Runs a call, or gives it the result that it has without running.
    async fn begin_call(&mut self, decided: Settled, running: &mut Running) -> StepResult<()> {
        match decided {
            Settled::No { id, name, output, end } => self.finish_call(id, name, output, end).await,
            Settled::Run(call) => {
                let (id, name) = (call.id.clone(), call.name().to_owned());
                self.emit(Event::ToolStarted { id, name, arguments: call.arguments.clone() });
                let context = self.context(&call, running);
                running.calls.spawn(run(Arc::clone(&self.core), call, context));
                Ok(())
            }
        }
    }

    /// What surrounds a call.
    fn context(&self, call: &Call, running: &Running) -> CallContext {
        let core = &self.core;
        let model: Arc<dyn Model> =
            Arc::new(SamplingModel { model: core.accelerator(), usage: Arc::clone(&core.usage) });
        let side = Arc::new(Side {
            id: call.id.clone(),
            events: self.events.clone(),
            notifier: Arc::clone(&core.notifier),
            caller: core.caller.clone(),
            model: Arc::clone(&model),
        });
        CallContext::new()
            .with_cancellation(running.cancellation.child_token())
            .with_caller(Arc::clone(&side) as _)
            .with_notifier(side)
            .with_model(model)
            .with_working_dir(&core.working_dir)
            .with_session_id(core.session.id().to_string())
            .with_exchange_view(self.state.conversation.view())
    }

    async fn take_ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) -> StepResult<()> {
        // A task that was aborted has no result; the end of the reply gives it one.
        let Ok(Ended { id, name, result, note }) = ended else { return Ok(()) };
        let mut output = match result {
            Ok(output) => output,
            Err(ToolError::Cancelled(_)) if self.cancellation.is_cancelled() => return Ok(()),
            Err(error) => as_output(error),
        };
        output.content.extend(note.map(ContentBlock::text));
        self.finish_call(id, name, output, ToolEnd::Ran).await
    }

    /// The person cancelled: what has ended all the same keeps its result, the rest is ended.
    async fn drain_cancelled(&mut self, running: &mut Running) -> StepResult<()> {
        running.cancellation.cancel();
        let deadline = tokio::time::Instant::now() + CANCEL_GRACE;
        while let Ok(Some(ended)) = tokio::time::timeout_at(deadline, running.calls.join_next()).await {
            self.take_ended(ended).await?;
        }
        running.calls.abort_all();
        Ok(())
    }
}

impl Running {
    fn new(reply: &CancellationToken) -> Self {
        Self { calls: JoinSet::new(), cancellation: reply.child_token() }
    }
}

/// Calls a tool. A panic on the way is a result, too.
async fn run(core: Arc<Core>, call: Call, context: CallContext) -> Ended {
    let Call { id, member, arguments, note } = call;
    let name = member.tool.name().to_owned();
    let toolset = Arc::clone(&core.agent().toolset);
    let result =
        AssertUnwindSafe(toolset.call(&name, Value::Object(arguments), &context)).catch_unwind().await;
    let result = result.unwrap_or_else(|_| {
        Err(ToolError::execution(format!("`{name}` failed because of a bug in goose. Try another way.")))
    });
    Ended { id, name, result, note }
}

/// A failure as the model reads it.
fn as_output(error: ToolError) -> ToolOutput {
    ToolOutput::from_error(error).unwrap_or_else(|error| ToolOutput::error(error.to_string()))
}
