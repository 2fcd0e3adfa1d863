//! One reply from its begin to its end: events to the view, questions to the person, signals to the reply.
//!
//! While an extension asks the person something, the screen is that question's: events wait, and nothing moves.
//!
//! | signal | the first | then |
//! | --- | --- | --- |
//! | Ctrl-C (SIGINT) | the reply is cancelled, its history stays valid | goose leaves at once |
//! | SIGTERM, SIGHUP | the reply is cancelled and drained, then goose leaves | goose leaves at once |

use std::{
    io,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use goose::exchange::{Approval, Event, Outcome, Reply};
use tokio::time::{MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    approval::{self, Said},
    input::{Input, Turn},
    screen::View,
    status::FRAME_TIME,
};
use crate::{
    aside,
    signals::{Asked, Signals},
};

/// How long a cancelled reply may take to end.
const DRAIN_TIME: Duration = Duration::from_secs(3);

/// How following a reply ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The reply is over.
    Finished(Outcome),
    /// goose is to end with this code.
    Leave(ExitCode),
}

/// The other side of a reply.
pub(crate) struct Follower<'a> {
    pub(crate) view: &'a mut dyn View,
    pub(crate) signals: &'a mut Signals,
    /// Who can be asked; `None` where nobody can.
    pub(crate) input: Option<&'a Arc<Input>>,
}

/// A reply that may have been told to stop.
struct Stopping {
    stop: CancellationToken,
    /// When it must have ended.
    deadline: Option<tokio::time::Instant>,
    /// The code to leave with afterwards.
    leave: Option<ExitCode>,
}

impl Stopping {
    /// Tells it to stop.
    fn begin(&mut self, asked: Asked) {
        self.stop.cancel();
        self.deadline = Some(tokio::time::Instant::now() + DRAIN_TIME);
        self.leave = self.leave.or(asked.leaves());
    }

    /// How it ended, where the reply ended so.
    fn ending(&self, outcome: Outcome) -> Ending {
        self.leave.map_or(Ending::Finished(outcome), Ending::Leave)
    }
}

/// What happens next.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
enum Next {
    Event(Option<Event>),
    /// The event that waits may be shown.
    Free(Option<Turn>),
    Asked(Asked),
    Tick,
    TooLate,
}

impl Follower<'_> {
    /// Follows a reply.
    ///
    /// # Errors
    ///
    /// Where the view cannot be written to. The reply has ended then.
    pub(crate) async fn follow(mut self, mut reply: Reply) -> io::Result<Ending> {
        let stop = reply.cancellation();
        let mut ticks = interval(FRAME_TIME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut stopping = Stopping { stop, deadline: None, leave: None };
        let mut waiting = None;
        loop {
            let until = stopping.deadline.unwrap_or_else(far_away);
            let next = tokio::select! {
                biased;
                asked = self.signals.next() => Next::Asked(asked?),
                () = sleep_until(until), if stopping.deadline.is_some() => Next::TooLate,
                turn = turn(self.input), if waiting.is_some() => Next::Free(turn),
                event = reply.next(), if waiting.is_none() => Next::Event(event),
                _ = ticks.tick(), if aside::is_seen() => Next::Tick,
            };
            match next {
                Next::Event(None) => return Ok(stopping.ending(Outcome::Cancelled)),
                Next::Event(event) => waiting = event,
                Next::Free(turn) => {
                    let Some(event) = waiting.take() else { continue };
                    match self.event(event, turn, &reply, &mut stopping).await {
                        Ok(None) => {}
                        Ok(Some(ending)) => return Ok(ending),
                        Err(error) => {
                            stopping.stop.cancel();
                            drain(reply).await;
                            return Err(error);
                        }
                    }
                }
                Next::Asked(asked) if stopping.deadline.is_none() => {
                    stopping.begin(asked);
                    if asked == Asked::Interrupt && self.input.is_some() {
                        aside::line("Cancelling. Ctrl-C again leaves.");
                    }
                }
                Next::Asked(asked) => return Ok(Ending::Leave(asked.code())),
                Next::TooLate => return Ok(Ending::Leave(stopping.leave.unwrap_or(Asked::Interrupt.code()))),
                Next::Tick if self.input.is_some_and(|input| input.is_asking()) => {}
                Next::Tick => self.view.tick(Instant::now()),
            }
        }
    }

    /// Shows an event, or puts it to the person. `Some` where it is the last.
    async fn event(
        &mut self,
        event: Event,
        turn: Option<Turn>,
        reply: &Reply,
        stopping: &mut Stopping,
    ) -> io::Result<Option<Ending>> {
        match event {
            Event::Approval(approval) => {
                if let Some(asked) = self.approve(&approval, turn, reply).await? {
                    stopping.begin(asked);
                }
                Ok(None)
            }
            Event::Finished(outcome) => {
                self.view.event(&Event::Finished(outcome.clone()))?;
                Ok(Some(stopping.ending(outcome)))
            }
            event => self.view.event(&event).map(|()| None),
        }
    }

    /// Puts an approval to the person. `Some` where the reply is to stop instead.
    async fn approve(
        &mut self,
        approval: &Approval,
        turn: Option<Turn>,
        reply: &Reply,
    ) -> io::Result<Option<Asked>> {
        if reply.cancellation().is_cancelled() {
            return Ok(None);
        }
        self.view.before_question()?;
        let Some(turn) = turn else {
            reply.answer(&approval.id, approval::refuse(approval));
            return Ok(None);
        };
        tokio::select! {
            said = approval::ask(&turn, approval) => Ok(match said {
                Said::Decided(decision) => {
                    reply.answer(&approval.id, decision);
                    None
                }
                Said::Cancel => Some(Asked::Interrupt),
            }),
            asked = self.signals.next() => asked.map(Some),
        }
    }
}

/// The keyboard, and with it the screen; `None` where nobody can be asked.
async fn turn(input: Option<&Arc<Input>>) -> Option<Turn> {
    match input {
        Some(input) => Some(input.turn().await),
        None => None,
    }
}

/// Waits for the end of a reply that nobody looks at any more.
async fn drain(mut reply: Reply) {
    let all = async { while reply.next().await.is_some() {} };
    // The exchange is closed next, late or not.
    let _ = tokio::time::timeout(DRAIN_TIME, all).await;
}

fn far_away() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(3_600)
}
