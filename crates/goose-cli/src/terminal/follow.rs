//! One reply from start to finish: events to the view, questions to the user, signals to the reply.
//!
//! While a question is on the screen it has the screen to itself: events wait in the session's event log.
//!
//! | signal | the first | then |
//! | --- | --- | --- |
//! | Ctrl-C (SIGINT) | the reply is cancelled, its history stays valid | goose exits at once |
//! | Esc | the same | nothing |
//! | SIGTERM, SIGHUP | the reply is cancelled and drained, then goose exits | goose exits at once |

use std::{
    io,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use goose::exchange::{Answer, Event, EventRecord, Exchange, Outcome, PlanDecision, Reply, TaskState};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::{
    approval::{self, Said},
    input::{Input, Turn},
    notify::Notify,
    screen::View,
    status::FRAME_TIME,
    tasks::{self, Which},
};
use crate::{
    prompts,
    signals::{ExitSignal, Signals},
    stderr,
};

/// Time limit for a cancelled reply to end.
const DRAIN_TIME: Duration = Duration::from_secs(3);

/// The result of following a reply.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The reply is over.
    Finished(Outcome),
    /// goose is to exit with this code.
    Leave(ExitCode),
}

/// The reader of a reply.
pub(crate) struct Follower<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) view: &'a mut dyn View,
    pub(crate) signals: &'a mut Signals,
    /// The user's keyboard; `None` if no user can be asked.
    pub(crate) input: Option<&'a Arc<Input>>,
    /// Notifies the user of questions.
    pub(crate) notify: Notify,
}

/// A reply that may have been told to stop.
struct Stopping {
    reply: Reply,
    /// The time at which it must have ended.
    deadline: Option<tokio::time::Instant>,
    /// The code to exit with afterwards.
    leave: Option<ExitCode>,
}

impl Stopping {
    /// Tells it to stop.
    fn begin(&mut self, asked: ExitSignal) {
        self.reply.cancel();
        self.deadline = Some(tokio::time::Instant::now() + DRAIN_TIME);
        self.leave = self.leave.or(asked.leaves());
    }

    /// The end of following, after this end of the reply.
    fn ending(&self, outcome: Outcome) -> Ending {
        self.leave.map_or(Ending::Finished(outcome), Ending::Leave)
    }

    /// Waits for the end of a reply that is not shown any more. The exchange is closed next, late or not.
    async fn drain(&mut self) {
        self.reply.cancel();
        let all = async { while self.reply.next_record().await.is_some() {} };
        let _ = tokio::time::timeout(DRAIN_TIME, all).await;
    }
}

/// The next thing to handle.
enum Next {
    Event(Option<Arc<EventRecord>>),
    Signal(ExitSignal),
    Escape,
    Tick,
    TooLate,
}

impl Follower<'_> {
    /// Follows a reply.
    ///
    /// # Errors
    ///
    /// Fails if the view cannot be written to. The reply has ended then.
    pub(crate) async fn follow(mut self, reply: Reply) -> io::Result<Ending> {
        let mut ticks = interval(FRAME_TIME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut stopping = Stopping { reply, deadline: None, leave: None };
        let mut escape = Box::pin(escape(self.input));
        loop {
            // Without a deadline, its branch is disabled.
            let until = stopping.deadline.unwrap_or_else(tokio::time::Instant::now);
            let next = tokio::select! {
                biased;
                asked = self.signals.next() => Next::Signal(asked?),
                () = sleep_until(until), if stopping.deadline.is_some() => Next::TooLate,
                record = stopping.reply.next_record() => Next::Event(record),
                () = &mut escape => Next::Escape,
                _ = ticks.tick(), if self.view.is_moving() || self.input.is_some() => Next::Tick,
            };
            let asked = match next {
                Next::Event(None) => return Ok(stopping.ending(Outcome::Cancelled)),
                Next::Event(Some(record)) => match self.event(&record, &mut stopping).await {
                    Ok(None) => continue,
                    Ok(Some(ending)) => return Ok(ending),
                    Err(error) => {
                        stopping.drain().await;
                        return Err(error);
                    }
                },
                Next::Signal(asked) if stopping.deadline.is_none() => asked,
                Next::Signal(asked) => return Ok(Ending::Leave(asked.code())),
                Next::TooLate => {
                    return Ok(Ending::Leave(stopping.leave.unwrap_or(ExitSignal::Interrupt.code())));
                }
                Next::Escape => {
                    escape = Box::pin(self::escape(self.input));
                    if stopping.deadline.is_some() {
                        continue;
                    }
                    ExitSignal::Interrupt
                }
                Next::Tick => {
                    self.view.set_typed(self.input.map(|input| input.typed_ahead()).unwrap_or_default());
                    self.view.tick(Instant::now());
                    continue;
                }
            };
            if asked == ExitSignal::Interrupt && self.cancels_less().await? {
                continue;
            }
            stopping.begin(asked);
            if asked == ExitSignal::Interrupt && self.input.is_some() {
                self.view.before_question(None)?;
                stderr::line("Cancelling. Press Ctrl-C again to exit.");
            }
        }
    }

    /// Shows an event, or puts it to the user. `Some` where it is the last.
    async fn event(&mut self, record: &EventRecord, stopping: &mut Stopping) -> io::Result<Option<Ending>> {
        let event = &record.event;
        if let Event::TaskPlan(_) = event {
            self.view.event(event)?;
        }
        match event {
            Event::TaskPlan(plan) if !plan.is_question => Ok(None),
            Event::Approval(_) | Event::Elicitation(_) | Event::Consent(_) | Event::TaskPlan(_) => {
                if !stopping.reply.cancellation().is_cancelled()
                    && let Some(asked) = self.question(event, record.task.as_deref()).await?
                {
                    stopping.begin(asked);
                }
                Ok(None)
            }
            // It would follow the line that says that the reply is cancelled.
            Event::Text(_) if stopping.deadline.is_some() && self.input.is_some() => Ok(None),
            event => {
                self.view.event(event)?;
                let Event::Finished(outcome) = event else { return Ok(None) };
                Ok(Some(stopping.ending(outcome.clone())))
            }
        }
    }

    /// Puts a question to the user, until it is answered here or elsewhere, or withdrawn. `Some` where the reply is to
    /// stop instead.
    async fn question(&mut self, event: &Event, task: Option<&str>) -> io::Result<Option<ExitSignal>> {
        let Some(id) = event.question_id() else { return Ok(None) };
        self.view.before_question(task)?;
        if self.input.is_some() {
            self.notify.asks();
        }
        let input = self.input;
        let said = async {
            match input {
                Some(input) => ask(&input.turn().await, event).await,
                None => Said::Answer(unattended(event)),
            }
        };
        tokio::select! {
            // First: a question that was closed meanwhile is not shown any more.
            biased;
            () = self.exchange.question_closed(id) => Ok(None),
            asked = self.signals.next() => asked.map(Some),
            said = said => Ok(match said {
                Said::Answer(answer) => {
                    self.exchange.answer(id, answer);
                    None
                }
                Said::Cancel => Some(ExitSignal::Interrupt),
            }),
        }
    }
}

impl Follower<'_> {
    /// Asks which of several tasks to cancel. False where the whole reply is to stop.
    async fn cancels_less(&mut self) -> io::Result<bool> {
        let open = self.exchange.tasks();
        let open: Vec<_> = open.iter().filter(|task| !matches!(task.state, TaskState::Over(_))).collect();
        // Tasks of a resumed session wait until the user goes on with them.
        let is_running = open.iter().any(|task| task.state == TaskState::Running);
        let Some(input) = self.input.filter(|_| is_running && open.len() > 1) else {
            return Ok(false);
        };
        self.view.before_question(None)?;
        let ids: Vec<&str> = open.iter().map(|task| task.task.id.as_str()).collect();
        let asked = async { tasks::ask_which(&input.turn().await, &ids).await };
        let which = tokio::select! {
            which = asked => which,
            asked = self.signals.next() => {
                asked?;
                return Ok(false);
            }
        };
        match which {
            Which::All => return Ok(false),
            Which::One(id) => {
                self.exchange.cancel_task(&id);
            }
            Which::None => {}
        }
        Ok(true)
    }
}

/// Asks the user, who has the keyboard for as long.
pub(crate) async fn ask(turn: &Turn, question: &Event) -> Said {
    match question {
        Event::Approval(approval) => approval::ask(turn, approval).await,
        Event::Consent(request) => approval::ask_consent(turn, request).await,
        Event::TaskPlan(_) => tasks::ask_plan(turn).await,
        Event::Elicitation(request) => {
            let elicited = prompts::elicit(turn, &request.extension, (*request.question).clone()).await;
            Said::Answer(elicited.into())
        }
        _ => Said::Cancel,
    }
}

/// Waits for Esc, if there is a keyboard.
pub(crate) async fn escape(input: Option<&Arc<Input>>) {
    match input {
        Some(input) => input.escape().await,
        None => std::future::pending().await,
    }
}

/// The answer where no user can be asked.
pub(crate) fn unattended(question: &Event) -> Answer {
    match question {
        Event::Approval(approval) => approval::refuse(approval).into(),
        Event::Elicitation(_) => prompts::declined().into(),
        Event::TaskPlan(_) => PlanDecision::AsOne.into(),
        _ => Answer::Consent(false),
    }
}
