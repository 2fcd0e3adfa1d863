//! Open questions of a session: approvals, elicitations, consents and plans, each answered by its id.
//!
//! A question is both an event and an entry in the hub's list, so a reader that subscribes later finds it
//! too.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{EventHub, EventRecord, EventSink, wake};
use crate::exchange::event::{Answer, Event};

/// Question in the hub's list.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    id: String,
    pub(super) record: Arc<EventRecord>,
    answer: oneshot::Sender<Answer>,
    /// Cancelled with the reply, after which no answer counts.
    reply: CancellationToken,
    /// Cancelled when the question is closed.
    closed: CancellationToken,
}

impl EventHub {
    /// Answers a question. Only the first answer of the right kind counts, and none after the reply was
    /// cancelled. Returns true if this one counts.
    pub(crate) fn answer(&self, id: &str, answer: Answer) -> bool {
        let question = self.remove_question(|question| {
            question.id == id && answer.fits(&question.record.event) && !question.reply.is_cancelled()
        });
        question.is_some_and(|question| question.answer.send(answer).is_ok())
    }

    /// Returns the unanswered questions, oldest first.
    pub(crate) fn questions(&self) -> Vec<Arc<EventRecord>> {
        self.log.lock().questions.iter().map(|question| Arc::clone(&question.record)).collect()
    }

    /// Returns a token that is cancelled once an open question was answered or withdrawn.
    pub(crate) fn closed(&self, id: &str) -> Option<CancellationToken> {
        let log = self.log.lock();
        log.questions.iter().find(|question| question.id == id).map(|question| question.closed.clone())
    }

    /// Removes a question from the list, if it is there, and reports that it is closed.
    fn remove_question(&self, is_it: impl Fn(&PendingQuestion) -> bool) -> Option<PendingQuestion> {
        let mut log = self.log.lock();
        let at = log.questions.iter().position(is_it)?;
        let question = log.questions.remove(at);
        question.closed.cancel();
        let event = Event::QuestionClosed { id: question.id.clone() };
        let step = log.step;
        log.push(EventRecord { step, event, ..EventRecord::clone(&question.record) });
        wake(log);
        Some(question)
    }
}

impl EventSink {
    /// Waits until no other call asks the user for approval.
    pub(crate) async fn question_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.hub.approvals.lock().await
    }

    /// Asks the user a question of another session. If the reply ends without an answer, the question is
    /// asked again in the next reply, because user interfaces follow a reply.
    pub(crate) async fn ask_for_other(&self, id: &str, question: &Event) -> Option<Answer> {
        let _turn = self.question_turn().await;
        loop {
            let mut begun = std::pin::pin!(self.hub.begun.notified());
            begun.as_mut().enable();
            let sink = Self { reply: self.hub.log.lock().replies, ..self.clone() };
            let mut question = sink.ask(id.to_owned(), question.clone());
            tokio::select! {
                answer = question.answer() => return answer,
                () = begun => {}
            }
        }
    }

    /// Returns a new id for a question of a call.
    pub(crate) fn question_id(&self, call: &str) -> String {
        let mut log = self.hub.log.lock();
        log.last_id += 1;
        format!("{call}/{}", log.last_id)
    }

    /// Asks a question. It is withdrawn when the result is dropped.
    pub(crate) fn ask(&self, id: String, question: Event) -> OpenQuestion {
        let (answer, answered) = oneshot::channel();
        let mut log = self.hub.log.lock();
        let record = self.record(log.step, question);
        let record = log.push(record);
        let (reply, closed) = (self.cancellation.clone(), CancellationToken::new());
        log.questions.push(PendingQuestion { id: id.clone(), record, answer, reply, closed });
        wake(log);
        OpenQuestion { hub: Arc::clone(&self.hub), id, answered }
    }
}

/// Question that waits for an answer.
pub(crate) struct OpenQuestion {
    hub: Arc<EventHub>,
    id: String,
    answered: oneshot::Receiver<Answer>,
}

impl OpenQuestion {
    /// Waits for the answer. Returns `None` if the question was withdrawn.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        (&mut self.answered).await.ok()
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.hub.remove_question(|question| question.id == self.id);
    }
}
