//! [`run`]: one program in a separate JavaScript engine, on the calling thread.
//!
//! ```text
//! engine's thread:  jobs ─► wait ─► settle a call or fire a timer ─► jobs …
//!                     │       ▲
//!               Call  ▼       │ Reply
//! runtime:          run.rs: CallContext::call_tool, some at once
//! ```
//!
//! A program can act only through `native.call`. It ends when its last promise is settled and no call or
//! timer is left; when it fails; when nothing can settle the promise that it waits for; or when it reaches a
//! limit.

mod error_lines;
mod prelude;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use goose_extension::JsonObject;
use rquickjs::{
    Context, Ctx, Error, FromJs, Promise, Runtime, Value, context::EvalOptions, function::IntoArgs,
};
use tokio::sync::mpsc::Sender;

use self::{
    error_lines::ErrorLines,
    prelude::{Prelude, Saved, load_prelude},
};
use crate::{
    erase::{ErasedProgram, erase},
    functions::{Function, Functions},
    limits::{MAX_BUSY, MAX_DURATION, MAX_MEMORY_BYTES, MAX_STACK_BYTES},
    output::{BoundedOutput, CallResult},
};

/// File name of the program in stack traces.
const FILE: &str = "code.ts";

/// Opening of a program that returns a value. It has no line break, so that lines keep their numbers.
const OPENING: &str = "(async()=>{";

/// Call that the program makes.
pub(crate) struct Call {
    pub(crate) id: u32,
    pub(crate) function: Function,
    pub(crate) arguments: JsonObject,
}

/// Answer to a call.
pub(crate) struct Reply {
    pub(crate) id: u32,
    pub(crate) result: CallResult,
}

/// Engine's side of the connection to the runtime.
pub(crate) struct Link {
    pub(crate) calls: Sender<Call>,
    pub(crate) replies: Receiver<Reply>,
    pub(crate) status: Arc<EngineStatus>,
}

/// State of an engine as other threads see it, and the way to stop it.
pub(crate) struct EngineStatus {
    is_stopped: AtomicBool,
    began: Instant,
    /// Milliseconds from `began` until the engine became busy, plus one; 0 while it waits.
    busy_since: AtomicU64,
}

impl EngineStatus {
    pub(crate) fn new() -> Self {
        Self { is_stopped: AtomicBool::new(false), began: Instant::now(), busy_since: AtomicU64::new(1) }
    }

    /// Stops the engine the next time that it checks its limits.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns for how long the engine has been busy; `None` while it waits.
    pub(crate) fn busy_for(&self) -> Option<Duration> {
        let since = self.busy_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.began.elapsed().saturating_sub(Duration::from_millis(since)))
    }

    fn set_busy(&self, is_busy: bool) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1) + 1;
        self.busy_since.store(if is_busy { now } else { 0 }, Ordering::Relaxed);
    }
}

/// Output and end of a program.
pub(crate) struct ProgramOutcome {
    pub(crate) printed: BoundedOutput,
    pub(crate) end: End,
}

/// End of a program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The program ended, with a value to show.
    Done(Option<String>),
    /// The program could not start, or failed. The text is for the model.
    Failed(String),
    /// The program reached a limit.
    Stopped(Limit),
}

/// Limit that stops a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Cancelled,
    Busy,
    Duration,
    Printed,
}

/// Runs a program to its end.
pub(crate) fn run(source: &str, functions: &Arc<Functions>, link: Link) -> ProgramOutcome {
    let program = match erase(source) {
        Ok(program) => program,
        Err(error) => {
            return ProgramOutcome { printed: BoundedOutput::default(), end: End::Failed(error.to_string()) };
        }
    };
    let state = Rc::new(State::new(link));
    let end = match Engine::new(&state, functions) {
        Ok(engine) => engine.run(source, program, functions),
        Err(_) => End::Failed("The JavaScript engine could not be started. Try again.".to_owned()),
    };
    ProgramOutcome { printed: state.printed.take(), end }
}

/// State that the engine's native functions change.
struct State {
    link: Link,
    printed: RefCell<BoundedOutput>,
    calls: Cell<usize>,
    /// Number of calls without a reply.
    open: Cell<usize>,
    /// Timers that are set.
    timers: RefCell<Vec<(Instant, u32)>>,
    /// Number of all timers so far.
    timers_set: Cell<usize>,
    finished: RefCell<Option<Result<Option<String>, Thrown>>>,
    stopped: Cell<Option<Limit>>,
    busy_until: Cell<Instant>,
    ends_at: Instant,
}

impl State {
    fn new(link: Link) -> Self {
        let now = Instant::now();
        Self {
            link,
            printed: RefCell::default(),
            calls: Cell::new(0),
            open: Cell::new(0),
            timers: RefCell::default(),
            timers_set: Cell::new(0),
            finished: RefCell::new(None),
            stopped: Cell::new(None),
            busy_until: Cell::new(now + MAX_BUSY),
            ends_at: now + MAX_DURATION,
        }
    }

    /// Returns the limit that is reached. The first one stays.
    fn limit(&self) -> Option<Limit> {
        if self.stopped.get().is_none() {
            let now = Instant::now();
            self.stopped.set(if self.link.status.is_stopped.load(Ordering::Relaxed) {
                Some(Limit::Cancelled)
            } else if now >= self.busy_until.get() {
                Some(Limit::Busy)
            } else if now >= self.ends_at {
                Some(Limit::Duration)
            } else {
                None
            });
        }
        self.stopped.get()
    }

    /// Waits for a reply or a timer. A timer that is due is removed.
    fn wait(&self) -> Event {
        let next = self.timers.borrow().iter().copied().min();
        self.link.status.set_busy(false);
        let until = next.map_or(self.ends_at, |(at, _)| at.min(self.ends_at));
        let event = match self.link.replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(reply) => Event::Reply(reply),
            Err(RecvTimeoutError::Disconnected) => Event::Cancelled,
            Err(RecvTimeoutError::Timeout) => match next {
                Some((at, id)) if at <= Instant::now() => {
                    self.timers.borrow_mut().retain(|(_, timer)| *timer != id);
                    Event::Timer(id)
                }
                _ => Event::Nothing,
            },
        };
        self.link.status.set_busy(true);
        self.busy_until.set(Instant::now() + MAX_BUSY);
        event
    }

    /// Returns whether nothing can settle a promise any more.
    fn is_idle(&self) -> bool {
        self.open.get() == 0 && self.timers.borrow().is_empty()
    }
}

/// Event that ends a wait.
enum Event {
    Reply(Reply),
    Timer(u32),
    Cancelled,
    Nothing,
}

/// Engine with one program. The fields are dropped in this order: JavaScript values before their runtime.
struct Engine {
    prelude: Prelude,
    context: Context,
    runtime: Runtime,
    state: Rc<State>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The tracker holds a function of the prelude, which must be dropped before the runtime.
        self.runtime.set_host_promise_rejection_tracker(None);
    }
}

impl Engine {
    fn new(state: &Rc<State>, functions: &Arc<Functions>) -> Result<Self, Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MAX_MEMORY_BYTES);
        runtime.set_max_stack_size(MAX_STACK_BYTES);
        let watched = Rc::clone(state);
        runtime.set_interrupt_handler(Some(Box::new(move || watched.limit().is_some())));
        let context = Context::full(&runtime)?;
        let (prelude, track) = context.with(|ctx| load_prelude(&ctx, state, functions))?;
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                let tracked = track.clone().restore(&ctx);
                if tracked.and_then(|track| track.call::<_, ()>((promise, reason, is_handled))).is_err() {
                    ctx.catch();
                }
            },
        )));
        Ok(Self { prelude, context, runtime, state: Rc::clone(state) })
    }

    fn run(&self, source: &str, program: ErasedProgram, functions: &Functions) -> End {
        let program = match program.syntax_error {
            None => program,
            Some(ref error) => match self.accept_javascript(source, &program, error) {
                Ok(program) => program,
                Err(Thrown(error)) => return End::Failed(error),
            },
        };
        let shift = if program.has_return { OPENING.len() } else { 0 };
        let end = self.start(&program).and_then(|()| self.work()).and_then(|value| match self.unhandled() {
            Some(Thrown(error)) => {
                Err(Failure::Error(Thrown(format!("A promise was rejected and not awaited. {error}"))))
            }
            None => Ok(value),
        });
        match end {
            Ok(value) => End::Done(value),
            Err(Failure::Limit(limit)) => End::Stopped(limit),
            Err(Failure::Error(error)) => {
                End::Failed(ErrorLines::new(source, shift).explain(&error, functions))
            }
        }
    }

    /// Checks a program that the grammar does not accept. If it is JavaScript, the grammar is incomplete, and
    /// the program runs unchanged.
    fn accept_javascript(
        &self,
        source: &str,
        erased: &ErasedProgram,
        error: &str,
    ) -> Result<ErasedProgram, Thrown> {
        if let Err(found) = self.compile(&erased.code) {
            // The engine reports a missing end behind the program, at a line that the program does not have.
            let explained = ErrorLines::new(source, OPENING.len()).explain(&found, &Functions::default());
            return Err(Thrown(if explained.contains("at line ") { explained } else { error.to_owned() }));
        }
        match self.compile(source) {
            Ok(()) => Ok(ErasedProgram { code: source.to_owned(), syntax_error: None, ..erased.clone() }),
            Err(_) => Err(Thrown(error.to_owned())),
        }
    }

    /// Compiles code without running it.
    fn compile(&self, code: &str) -> Result<(), Thrown> {
        self.context.with(|ctx| {
            let code = format!("{OPENING}{code}\n}})");
            ctx.eval_with_options::<Value<'_>, _>(code, options(FILE))
                .map(drop)
                .map_err(|_| self.caught(&ctx))
        })
    }

    /// Starts the program.
    fn start(&self, program: &ErasedProgram) -> Result<(), Failure> {
        let started = self.context.with(|ctx| {
            let mut options = options(FILE);
            let code = match program.has_return {
                true => format!("{OPENING}{}\n}})()", program.code),
                false => {
                    options.promise = true;
                    program.code.clone()
                }
            };
            let is_wanted = program.has_return || program.ends_in_expression;
            ctx.eval_with_options::<Promise<'_>, _>(code, options)
                .and_then(|promise| {
                    let watch = self.prelude.watch.clone().restore(&ctx)?;
                    watch.call::<_, ()>((promise, !program.has_return, is_wanted))
                })
                .map_err(|_| self.caught(&ctx))
        });
        self.or_limit(started)
    }

    /// Runs jobs, replies and timers until the program has ended. Returns its value.
    fn work(&self) -> Result<Option<String>, Failure> {
        loop {
            self.run_jobs()?;
            let finished = self.state.finished.borrow().clone();
            match finished {
                Some(Err(error)) => return Err(Failure::Error(error)),
                Some(Ok(value)) if self.state.is_idle() => return Ok(value),
                None if self.state.is_idle() => return Err(Failure::Error(self.deadlock_error())),
                _ => {}
            }
            let done = match self.state.wait() {
                Event::Reply(reply) => {
                    self.state.open.set(self.state.open.get().saturating_sub(1));
                    self.settle(reply)
                }
                Event::Timer(id) => self.call(&self.prelude.fire, (id,)),
                Event::Cancelled => return Err(Failure::Limit(Limit::Cancelled)),
                Event::Nothing => Ok(()),
            };
            self.or_limit(done)?;
        }
    }

    /// Runs all pending jobs.
    fn run_jobs(&self) -> Result<(), Failure> {
        loop {
            let job = self.runtime.execute_pending_job();
            // The engine's interrupt handler runs only in long loops.
            if let Some(limit) = self.state.limit() {
                return Err(Failure::Limit(limit));
            }
            match job {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(exception) => return Err(Failure::Error(exception.0.with(|ctx| self.caught(&ctx)))),
            }
        }
    }

    fn settle(&self, reply: Reply) -> Result<(), Thrown> {
        let (is_done, is_json, text) = match reply.result {
            CallResult::Text(text) => (true, false, text),
            CallResult::Json(text) => (true, true, text),
            CallResult::Failed(text) => (false, false, text),
        };
        self.call(&self.prelude.settle, (reply.id, is_done, is_json, text))
    }

    fn unhandled(&self) -> Option<Thrown> {
        let first = self.call::<_, Option<String>>(&self.prelude.first_unhandled, ());
        first.map_or_else(Some, |error| error.map(Thrown))
    }

    /// Calls a function of the prelude.
    fn call<A, R>(&self, function: &Saved, arguments: A) -> Result<R, Thrown>
    where
        A: for<'js> IntoArgs<'js>,
        R: for<'js> FromJs<'js>,
    {
        self.context.with(|ctx| {
            let function = function.clone().restore(&ctx);
            function.and_then(|function| function.call(arguments)).map_err(|_| self.caught(&ctx))
        })
    }

    /// Returns the limit instead of an error if one is reached: the engine throws when it is interrupted.
    fn or_limit<T>(&self, result: Result<T, Thrown>) -> Result<T, Failure> {
        result.map_err(|error| match self.state.limit() {
            Some(limit) => Failure::Limit(limit),
            None => Failure::Error(error),
        })
    }

    /// Returns the text of the value that was thrown last.
    fn caught(&self, ctx: &Ctx<'_>) -> Thrown {
        let thrown = ctx.catch();
        let described = self.prelude.describe.clone().restore(ctx);
        Thrown(described.and_then(|describe| describe.call((thrown,))).unwrap_or_else(|_| {
            ctx.catch();
            OUT_OF_MEMORY.to_owned()
        }))
    }

    /// Returns the error of a program that waits for a promise that nothing can settle. A full memory can be
    /// the cause.
    fn deadlock_error(&self) -> Thrown {
        let used = usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or_default();
        Thrown(String::from(match used > MAX_MEMORY_BYTES / 10 * 9 {
            true => OUT_OF_MEMORY,
            false => NEVER_SETTLED,
        }))
    }
}

/// Text of a thrown value: its message, then a line for each frame of the stack.
#[derive(Debug, Clone)]
struct Thrown(String);

/// Reason why a program failed or was stopped.
enum Failure {
    Error(Thrown),
    Limit(Limit),
}

const OUT_OF_MEMORY: &str = "InternalError: out of memory";

const NEVER_SETTLED: &str = "The program waits for a promise that is never settled: no call and no timer \
                             is left. Look for a `new Promise` whose resolve is not called.";

fn options(file: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.filename = Some(file.to_owned());
    options
}
