//! What comes after an answer and its tools: another question, or the end.

use goose_providers::StopReason;

use super::{
    answer::Answer,
    event::Outcome,
    structured,
    work::{Going, Stop, Work},
};
use crate::session::{Step, aside_message};

/// How often a model is reminded that it has to say something before the reply ends.
const MAX_REMINDERS: u32 = 2;

/// What a model is told that has said nothing.
const SAY_SOMETHING: &str =
    "Your last answer was empty. Go on with the task; when it is done, say in a sentence what the result is.";

/// What comes next.
pub(super) enum Next {
    Ask,
    End(Outcome),
}

impl Work {
    pub(super) async fn decide(&mut self, answer: &Answer) -> Going<Next> {
        if let Some(structured) = self.structured.take() {
            return Ok(Next::End(Outcome::Done { structured: Some(structured) }));
        }
        if let Some(failure) = self.hopeless.take() {
            return Err(Stop::Failed(failure));
        }
        match &answer.stop {
            StopReason::Refused => return Ok(Next::End(Outcome::Refused)),
            StopReason::MaxTokens if answer.calls.is_empty() => return Ok(Next::End(Outcome::MaxTokens)),
            _ => {}
        }
        let next = match (answer.calls.is_empty(), answer.has_text(), &self.core.final_output) {
            (false, ..) => {
                self.reminders = 0;
                Next::Ask
            }
            (true, true, None) => Next::End(Outcome::Done { structured: None }),
            (true, false, None) => self.remind(SAY_SOMETHING, Outcome::Empty).await?,
            (true, _, Some(_)) => self.remind(structured::NUDGE, Outcome::Empty).await?,
        };
        Ok(match next {
            Next::Ask if self.turn >= self.core.limits.turns => Next::End(Outcome::MaxTurns(self.turn)),
            next => next,
        })
    }

    /// Tells the model what it has left undone, unless it was told before.
    async fn remind(&mut self, words: &str, otherwise: Outcome) -> Going<Next> {
        if self.reminders >= MAX_REMINDERS {
            return match self.core.final_output {
                Some(_) => Err(Stop::failed(
                    "The model did not give its answer in the form that was asked for.",
                    "Ask again, or use another model or a simpler response schema.".to_owned(),
                )),
                None => Ok(Next::End(otherwise)),
            };
        }
        self.reminders += 1;
        self.record(Step::Message { message: aside_message(words) }).await?;
        Ok(Next::Ask)
    }
}
