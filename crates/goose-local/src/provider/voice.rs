//! [`Voice`]: what becomes of the bytes that the model writes: text, as soon as it is believed, or one of the calls.

use goose_providers::{ReplyEvent, StopReason, ToolCall};

use super::{
    answer::{Events, Question},
    claims::{Doubt, Judgement},
    reading::{FreeText, Reading},
};
use goose_engine::Ended;

/// What is said in the place of a claim that is not true, where the model can do nothing more.
const NOT_DONE: &str = "I could not do this: nothing was changed.";

/// What is said beside a number that is nowhere else.
const UNFOUNDED: &str = "this small model worked it out by itself, so check it";

/// What comes out of the model.
pub(super) struct Voice<'a> {
    question: &'a Question,
    events: &'a Events,
    kind: Kind<'a>,
    /// What has come and is not believed yet.
    held: String,
    /// What was handed out.
    said: String,
    judgement: Judgement,
    /// Whether it was thought about.
    is_plain: bool,
    /// A call that is begun and not announced yet: it may not be made.
    begun: Option<ReplyEvent>,
    /// A call that was made in another way.
    made: Option<ToolCall>,
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
        Self {
            question,
            events,
            kind,
            held: String::new(),
            said: String::new(),
            judgement: Judgement::Believed,
            is_plain: false,
            begun: None,
            made: None,
        }
    }

    /// One in plain words, whose claims are looked at.
    pub(super) fn plain(question: &'a Question, events: &'a Events) -> Self {
        let kind = Kind::Free(FreeText::default());
        Self { kind, judgement: Judgement::Open, is_plain: true, ..Self::believing(question, events) }
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
        if let (Kind::Formed(reading), Judgement::Open) = (&self.kind, &self.judgement) {
            let is_decided = reading.is_decided();
            match self.question.second_thought(reading) {
                Some(doubt) => self.judgement = Judgement::Doubted(doubt),
                None if is_decided => self.announce(),
                None => {}
            }
        }
        for event in new {
            match event {
                ReplyEvent::Text(text) if self.judgement != Judgement::Believed => {
                    self.held.push_str(&text);
                    self.judge(false);
                }
                ReplyEvent::CallStarted { .. } if self.judgement != Judgement::Believed => {
                    self.begun = Some(event)
                }
                event => self.send(event),
            }
        }
    }

    fn announce(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.send(begun);
        }
    }

    fn judge(&mut self, is_whole: bool) {
        if self.judgement == Judgement::Open && !self.held.is_empty() {
            let too_early = self.question.too_early().filter(|_| !self.is_plain);
            let judge = || self.question.claims.judge(&self.held, is_whole);
            self.judgement = too_early.map_or_else(judge, Judgement::Doubted);
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

    /// Where nothing else can be done: says the truth in the model's place, or lets it speak; a remark will follow.
    pub(super) fn admit(&mut self, doubt: &Doubt) {
        let text = match doubt {
            Doubt::Unfounded(_) => std::mem::take(&mut self.held),
            _ => NOT_DONE.to_owned(),
        };
        self.send(ReplyEvent::Text(text));
    }

    /// What was said cannot be taken back, but it can be said what it is worth.
    fn remark(&mut self) {
        let number = self.question.claims.unfounded(&self.said).filter(|_| self.question.form.is_some());
        if let Some(number) = number {
            self.send(ReplyEvent::Text(format!(" (No result shows {number}: {UNFOUNDED}.)")));
        }
    }

    /// Takes a call that was made in another way, where there is one.
    pub(super) fn takes(&mut self, call: Option<ToolCall>) -> bool {
        self.begun = call
            .as_ref()
            .map(|call| ReplyEvent::CallStarted { id: call.id.clone(), name: call.name.clone() });
        self.made = call;
        self.made.is_some()
    }

    /// Hands over the call, where there is one, and says why it is over.
    pub(super) fn end(&mut self, ended: Ended, most: usize) -> StopReason {
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
            _ if self.made.is_some() => self.made.take(),
            Kind::Formed(reading) => {
                reading.call(why_cut.as_deref()).map(|call| self.question.unrepeated(call))
            }
            Kind::Free(_) => None,
        };
        if call.is_none() {
            self.remark();
        }
        match (call, ended) {
            (Some(call), _) => {
                self.announce();
                self.send(ReplyEvent::Call(self.question.guarded(call)));
                StopReason::ToolUse
            }
            (None, Ended::TooLong) => StopReason::MaxTokens,
            (None, Ended::GoesRound) => StopReason::Other("the text repeated itself without end".to_owned()),
            (None, _) => StopReason::EndTurn,
        }
    }

    fn send(&mut self, event: ReplyEvent) {
        if let ReplyEvent::Text(text) = &event {
            self.said.push_str(text);
        }
        // Whoever asked may be gone.
        let _ = self.events.blocking_send(Ok(event));
    }
}
