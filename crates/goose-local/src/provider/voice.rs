//! [`Voice`]: what becomes of the bytes that the model writes: text, as soon as it is believed, or one of the calls.

use goose_providers::{ReplyEvent, StopReason};

use super::{
    answer::{Events, Question},
    claims::{Doubt, Judgement},
    reading::{FreeText, Reading},
};
use crate::generate::Ended;

/// What is said in the place of a claim that is not true, where the model can do nothing more.
const NOT_DONE: &str = "I could not do this: nothing was changed.";

/// What comes out of the model.
pub(super) struct Voice<'a> {
    question: &'a Question,
    events: &'a Events,
    kind: Kind<'a>,
    /// What has come and is not believed yet.
    held: String,
    judgement: Judgement,
}

enum Kind<'a> {
    Free(FreeText),
    Formed(Reading<'a>),
}

impl<'a> Voice<'a> {
    /// One whose claims are looked at, where the model could do something.
    pub(super) fn new(question: &'a Question, events: &'a Events) -> Self {
        let judgement = if question.form.is_some() { Judgement::Open } else { Judgement::Believed };
        Self { judgement, ..Self::believing(question, events) }
    }

    /// One whose text is handed out as it comes.
    pub(super) fn believing(question: &'a Question, events: &'a Events) -> Self {
        let kind = match question.form {
            None => Kind::Free(FreeText::default()),
            Some(_) => Kind::Formed(Reading::new(&question.offer, question.id.clone())),
        };
        Self { question, events, kind, held: String::new(), judgement: Judgement::Believed }
    }

    /// Whether nothing more needs to come.
    pub(super) fn is_over(&self) -> bool {
        self.events.is_closed() || matches!(self.judgement, Judgement::Doubted(_))
    }

    /// Takes what was written.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let new = match &mut self.kind {
            Kind::Free(text) => text.push(bytes).map(ReplyEvent::Text).into_iter().collect(),
            Kind::Formed(reading) => reading.push(bytes),
        };
        for event in new {
            match event {
                ReplyEvent::Text(text) if self.judgement != Judgement::Believed => {
                    self.held.push_str(&text);
                    self.judge(false);
                }
                event => self.send(event),
            }
        }
    }

    fn judge(&mut self, is_whole: bool) {
        if self.judgement == Judgement::Open && !self.held.is_empty() {
            self.judgement = self.question.claims.judge(&self.held, is_whole);
        }
        if self.judgement == Judgement::Believed && !self.held.is_empty() {
            let text = std::mem::take(&mut self.held);
            self.send(ReplyEvent::Text(text));
        }
    }

    /// Why the answer is not believed, now that no more of it comes.
    pub(super) fn doubt(&mut self) -> Option<Doubt> {
        self.judge(true);
        match &self.judgement {
            Judgement::Doubted(doubt) => Some(doubt.clone()),
            Judgement::Open | Judgement::Believed => None,
        }
    }

    /// Says the truth in the model's place.
    pub(super) fn admit(&mut self) {
        self.send(ReplyEvent::Text(NOT_DONE.to_owned()));
    }

    /// Hands over the call, where there is one, and says why it is over.
    pub(super) fn end(&self, ended: Ended, most: usize) -> StopReason {
        let why_cut = match ended {
            Ended::Complete | Ended::Cancelled => None,
            Ended::TooLong => Some(format!(
                "The call was cut off after {most} tokens, so nothing was done. Do it in smaller pieces"
            )),
            Ended::GoesRound => Some(
                "The call repeated itself without end, so it was cut off and nothing was done. Do it in another way"
                    .to_owned(),
            ),
        };
        let call = match &self.kind {
            Kind::Formed(reading) => reading.call(why_cut.as_deref()),
            Kind::Free(_) => None,
        };
        match (call, ended) {
            (Some(call), _) => {
                self.send(ReplyEvent::Call(self.question.guarded(call)));
                StopReason::ToolUse
            }
            (None, Ended::TooLong) => StopReason::MaxTokens,
            (None, Ended::GoesRound) => StopReason::Other("the text repeated itself without end".to_owned()),
            (None, _) => StopReason::EndTurn,
        }
    }

    fn send(&self, event: ReplyEvent) {
        // Whoever asked may be gone.
        let _ = self.events.blocking_send(Ok(event));
    }
}
