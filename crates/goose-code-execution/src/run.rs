//! [`execute`]: runs the engine on a thread, and its calls on the runtime.

use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc::SyncSender},
    time::Instant,
};

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use goose_extension::{CallContext, ToolError, ToolResult};
use tokio::sync::{mpsc, oneshot};

use crate::{
    engine::{self, Call, End, EngineStatus, Limit, Link, ProgramOutcome, Reply},
    engines::{ENGINES, EngineSlot, EngineWatch, NoEngine},
    functions::Functions,
    limits::{
        ABANDON_AFTER, FINISH_CALLS, MAX_ABANDONED, MAX_BUSY, MAX_CALLS, MAX_CALLS_AT_ONCE, MAX_DURATION,
        MAX_ENGINES, MAX_ERROR_BYTES, MAX_PRINTED_BYTES, MAX_WAIT, THREAD_STACK_BYTES, WAIT_FOR_ENGINE,
    },
    output::{BoundedOutput, CallResult},
};

/// Runs a program, whose calls are made with a context.
///
/// Dropping the future cancels the running calls and stops the engine.
///
/// # Errors
///
/// Fails with the output so far, and the reason why the program failed or was stopped.
pub(crate) async fn execute(code: String, functions: Functions, context: &CallContext) -> ToolResult<String> {
    let (slot, _watch) = take_slot().await?;
    // Both channels have room for all calls, so that neither side waits for the other.
    let (calls_in, calls) = mpsc::channel(MAX_CALLS);
    let (replies, replies_out) = std::sync::mpsc::sync_channel(MAX_CALLS);
    let (ended_in, ended) = oneshot::channel();
    let status = Arc::new(EngineStatus::new());
    let _stop = StopOnDrop(Arc::clone(&status));
    let link = Link { calls: calls_in, replies: replies_out, status: Arc::clone(&status) };
    let engine = move || {
        slot.begin();
        let ended = engine::run(&code, &Arc::new(functions), link);
        drop(slot);
        // The receiver is dropped if the call was cancelled.
        let _ = ended_in.send(ended);
    };
    let thread = std::thread::Builder::new().name("code-execution".to_owned()).stack_size(THREAD_STACK_BYTES);
    thread.spawn(engine).map_err(|error| {
        ToolError::ExecutionError(format!(
            "No thread could be started for the program: {error}. Try again later."
        ))
    })?;
    let (running, open) = (FuturesUnordered::new(), BTreeMap::new());
    Calls { context, calls, replies, status, running, open }.serve(ended).await
}

/// Waits for a slot for an engine. Engines that were just cancelled get some time to end.
async fn take_slot() -> ToolResult<(EngineSlot, EngineWatch)> {
    let deadline = Instant::now() + WAIT_FOR_ENGINE;
    loop {
        match ENGINES.take().await {
            Ok(slot) => return Ok(slot),
            Err(NoEngine::Stuck) if Instant::now() < deadline => {
                tokio::time::sleep(WAIT_FOR_ENGINE / 20).await;
            }
            Err(NoEngine::Stuck) => {
                return Err(ToolError::ExecutionError(format!(
                    "Not run: {MAX_ABANDONED} earlier programs cannot be stopped, each inside a single \
                     built-in function. Call the tools directly. Programs run again when those have ended, \
                     or goose is restarted."
                )));
            }
            Err(NoEngine::Full) => {
                return Err(ToolError::ExecutionError(format!(
                    "Not run: {MAX_ENGINES} programs are running, and none has ended within {} minutes. \
                     Call the tools directly, or try again later.",
                    MAX_WAIT.as_secs() / 60
                )));
            }
        }
    }
}

/// Stops an engine when its call is dropped.
struct StopOnDrop(Arc<EngineStatus>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Calls of one program.
struct Calls<'a> {
    context: &'a CallContext,
    calls: mpsc::Receiver<Call>,
    replies: SyncSender<Reply>,
    status: Arc<EngineStatus>,
    running: FuturesUnordered<BoxFuture<'a, Reply>>,
    /// Path of the function of each running call, by id of the call.
    open: BTreeMap<u32, String>,
}

impl Calls<'_> {
    async fn serve(mut self, mut ended: oneshot::Receiver<ProgramOutcome>) -> ToolResult<String> {
        let mut look = tokio::time::interval(ABANDON_AFTER / 8);
        loop {
            tokio::select! {
                ended = &mut ended => return self.finish(ended).await,
                Some(reply) = self.running.next() => {
                    self.open.remove(&reply.id);
                    // The receiver is dropped if the engine has ended.
                    let _ = self.replies.try_send(reply);
                }
                Some(call) = self.calls.recv(), if self.running.len() < MAX_CALLS_AT_ONCE => self.begin(call),
                _ = look.tick() => {
                    if self.status.busy_for().is_some_and(|busy| busy > ABANDON_AFTER) {
                        let end = End::Stopped(Limit::Busy);
                        return self.finish(Ok(ProgramOutcome { printed: BoundedOutput::default(), end })).await;
                    }
                }
            }
        }
    }

    fn begin(&mut self, Call { id, function, arguments }: Call) {
        let context = self.context;
        self.open.insert(id, function.path());
        self.running.push(Box::pin(async move {
            let result = match context.call_tool(function.tool.name(), arguments).await {
                Ok(output) => CallResult::from_output(&function.tool, output),
                Err(error) => CallResult::Failed(error.to_string()),
            };
            Reply { id, result }
        }));
    }

    async fn finish(
        mut self,
        ended: Result<ProgramOutcome, oneshot::error::RecvError>,
    ) -> ToolResult<String> {
        let Ok(ProgramOutcome { printed, end }) = ended else {
            let words =
                "The JavaScript engine failed because of a bug in goose. Write the program differently.";
            return Err(ToolError::ExecutionError(words.to_owned()));
        };
        let cut_off = self.finish_calls().await;
        let mut text = printed.into_text();
        let failure = match end {
            End::Done(value) => {
                if let Some(value) = value {
                    let mut shown = BoundedOutput::default();
                    shown.push(&value);
                    text.push_str(&shown.into_text());
                }
                None
            }
            End::Failed(error) => Some(cut(error)),
            End::Stopped(limit) => Some(explain(limit)),
        };
        match failure {
            None if text.trim().is_empty() => Ok("The program ended and printed nothing.".to_owned()),
            None => Ok(text),
            Some(failure) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                Err(ToolError::ExecutionError(text + &failure + &cut_off))
            }
        }
    }

    /// Waits for the running calls, within a time limit. Returns a text that names those that did not end.
    async fn finish_calls(&mut self) -> String {
        let finish = async {
            while let Some(reply) = self.running.next().await {
                self.open.remove(&reply.id);
            }
        };
        if tokio::time::timeout(FINISH_CALLS, finish).await.is_ok() {
            return String::new();
        }
        let paths: Vec<&str> = self.open.values().map(String::as_str).collect();
        format!("\nThese calls were still running and were cancelled: {}.", paths.join(", "))
    }
}

fn cut(error: String) -> String {
    goose_fs::truncate_lines(error, MAX_ERROR_BYTES, |_| "… (the error is longer)".to_owned())
}

/// Returns the message about a limit, for the model.
fn explain(limit: Limit) -> String {
    match limit {
        Limit::Cancelled => "The program was cancelled.".to_owned(),
        Limit::Busy => format!(
            "The program was stopped: it computed for {} s without waiting for a call. \
             Look for an endless loop.",
            MAX_BUSY.as_secs()
        ),
        Limit::Duration => {
            format!("The program was stopped after {} minutes. Split the work.", MAX_DURATION.as_secs() / 60)
        }
        Limit::Printed => format!(
            "The program was stopped: it printed more than {} MB. Print only the result.",
            MAX_PRINTED_BYTES / 1024 / 1024
        ),
    }
}
