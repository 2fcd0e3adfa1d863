//! Shows the events of a delegate in its parent session: nested in the call that started it, with its
//! questions asked there.

use std::sync::{Arc, Weak};

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use goose_extension::visible_line;
use goose_fs::truncate_chars;
use tokio_util::sync::CancellationToken;

use crate::{
    exchange::{
        Approval, ConsentRequest, ElicitationRequest, Event, EventHub, EventRecord, Exchange, Failure,
        Outcome, Reply,
    },
    session::Facts,
};

/// Maximum number of characters of a notice or an answer that are shown as progress.
const PROGRESS_CHARS: usize = 200;

/// The call or task in which a delegate's events are shown.
pub(crate) enum EventParent {
    /// Inside the call that started it.
    Call(String),
    /// As the progress of a task.
    Task(String),
}

impl EventParent {
    /// Returns the id of the surrounding call in the parent's session.
    fn call(&self, delegate: &Exchange) -> String {
        match self {
            Self::Call(call) => call.clone(),
            Self::Task(_) => delegate.session_id().to_string(),
        }
    }

    /// Returns the id of the task that the events belong to.
    fn task(&self, delegate: &Exchange) -> String {
        match self {
            Self::Call(_) => delegate.session_id().to_string(),
            Self::Task(task) => task.clone(),
        }
    }
}

/// Follows a delegate's reply to its end. Tool calls are shown in the parent's log; questions are asked
/// there, and the answers returned to the delegate. Notices and the last answer are shown as one line of
/// progress of the call; other text is not shown. For a task, the calls with their results and logs, and the
/// notices are shown. Cancelling stops the reply and withdraws its questions.
pub(crate) async fn relay(
    parent: &Weak<EventHub>,
    shown: &EventParent,
    delegate: &Exchange,
    mut reply: Reply,
    cancellation: &CancellationToken,
) -> (Outcome, Facts) {
    let mut questions: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    let mut facts = Facts::default();
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            biased;
            () = cancellation.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                reply.cancel();
                questions.clear();
            }
            Some(()) = questions.next(), if !questions.is_empty() => {}
            record = reply.next_record() => {
                let Some(record) = record else { return (Outcome::Failed(lost()), facts) };
                record.event.add_to(&mut facts);
                match &record.event {
                    Event::Finished(outcome) => return (outcome.clone(), facts),
                    _ if is_cancelled => {}
                    Event::Approval(_) | Event::Elicitation(_) | Event::Consent(_) => {
                        questions.push(pass_on(parent.clone(), shown, delegate, record).boxed());
                    }
                    _ => show(parent, shown, delegate, &record),
                }
            }
        }
    }
}

fn lost() -> Failure {
    Failure { message: "Its session was closed.".to_owned(), hint: None }
}

/// Shows an event of the delegate in the parent's log.
fn show(parent: &Weak<EventHub>, shown: &EventParent, delegate: &Exchange, record: &EventRecord) {
    let Some(hub) = parent.upgrade() else { return };
    let sink = hub.outside().of_task(&shown.task(delegate));
    if let EventParent::Task(task) = shown {
        match record.event.clone() {
            event @ (Event::ToolStarted { .. } | Event::ToolFinished { .. } | Event::Log { .. }) => {
                sink.show(Event::TaskProgress { task: task.clone(), event: Box::new(event) });
            }
            Event::Notice(notice) => sink.show(Event::Notice(format!("Task {task}: {notice}"))),
            _ => {}
        }
        return;
    }
    let call = shown.call(delegate);
    if let Some(event) = nested(&call, &record.event) {
        sink.inside(&around(&call, record)).show(event);
    }
}

/// Asks the user of the parent session, and passes the answer to the delegate. A question that the delegate
/// withdraws is withdrawn there too.
async fn pass_on(parent: Weak<EventHub>, shown: &EventParent, delegate: &Exchange, record: Arc<EventRecord>) {
    let call = shown.call(delegate);
    let (Some(hub), Some(event)) = (parent.upgrade(), nested(&call, &record.event)) else { return };
    let (Some(own_id), Some(id)) = (record.event.question_id(), event.question_id()) else { return };
    let sink = hub.outside().of_task(&shown.task(delegate)).inside(&around(&call, &record));
    tokio::select! {
        () = delegate.question_closed(own_id) => {}
        answer = sink.ask_for_other(id, &event) => {
            if let Some(answer) = answer {
                delegate.answer(own_id, answer);
            }
        }
    }
}

/// Returns the id of the call around an event, in the parent's session.
fn around(call: &str, record: &EventRecord) -> String {
    record.parent_call.as_ref().map_or_else(|| call.to_owned(), |inner| format!("{call}/{inner}"))
}

/// Returns an event with ids that are unique in the parent's session. Returns `None` for an event that only the
/// delegate shows.
fn nested(call: &str, event: &Event) -> Option<Event> {
    let under = |id: &str| format!("{call}/{id}");
    let around = |inner: &Option<String>| Some(inner.as_deref().map_or_else(|| call.to_owned(), under));
    Some(match event.clone() {
        Event::ToolStarted { id, name, arguments } => Event::ToolStarted { id: under(&id), name, arguments },
        Event::ToolProgress { id, message } => Event::ToolProgress { id: under(&id), message },
        Event::ToolFinished { id, name, output, end } => {
            Event::ToolFinished { id: under(&id), name, output, end }
        }
        Event::Notice(notice) => progress(call, &notice)?,
        Event::Answered(answer) if answer.call_ids().next().is_none() => progress(call, &answer.text())?,
        Event::Log { call, content } => Event::Log { call: around(&call), content },
        Event::FilesWritten { call, paths } => Event::FilesWritten { call: under(&call), paths },
        Event::Status { call, message } => Event::Status { call: around(&call), message },
        Event::Approval(approval) => Event::Approval(Approval { id: under(&approval.id), ..approval }),
        Event::Elicitation(request) => {
            let (id, call) = (under(&request.id), under(&request.call));
            Event::Elicitation(ElicitationRequest { id, call, ..request })
        }
        Event::Consent(request) => {
            let (id, call) = (under(&request.id), under(&request.call));
            Event::Consent(ConsentRequest { id, call, ..request })
        }
        _ => return None,
    })
}

/// Returns the beginning of a text as one line of progress of the delegate's call, or `None` for a blank
/// text.
fn progress(call: &str, text: &str) -> Option<Event> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = truncate_chars(line.trim(), PROGRESS_CHARS);
    Some(Event::ToolProgress { id: call.to_owned(), message: format!("{}\n", visible_line(&line)) })
}
