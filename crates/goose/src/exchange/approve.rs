//! Asking a person whether a tool may run. Only the first answer counts, none after a cancel, and no answer is a no.

use goose_extension::JsonObject;

use super::{
    bounded::brief,
    check::{Asked, Call, Checked, Settled},
    event::{Answer, Approval, Decision, Event},
    event_hub::OpenQuestion,
    reply_task::{ReplyTask, StepResult},
};

/// What the model reads where a person said no.
const DECLINED: &str = "the user did not allow this call. Do not try it again in another form; \
                        ask what they would like instead, or go on without it.";

/// A question that a person has not answered yet.
pub(super) struct Pending {
    call: Call,
    asked: Asked,
    question: OpenQuestion,
}

/// A question and its answer.
pub(super) struct Decided {
    call: Call,
    asked: Asked,
    decision: Decision,
}

impl Pending {
    /// Waits for the answer of the question that is pending, for ever where there is none.
    pub(super) async fn decided(pending: &mut Option<Self>) -> Decided {
        let Some(waiting) = pending else { return std::future::pending().await };
        let decision = match waiting.question.answer().await {
            Some(Answer::Decision(decision)) => decision,
            _ => Decision::Deny { instead: None },
        };
        match pending.take() {
            Some(Self { call, asked, .. }) => Decided { call, asked, decision },
            None => std::future::pending().await,
        }
    }
}

impl ReplyTask {
    /// Puts the question.
    pub(super) fn ask_person(&self, call: Call, asked: Asked) -> Pending {
        let (id, tool) = (call.id.clone(), call.name().to_owned());
        let (arguments, reasons) = (call.arguments.clone(), asked.reasons.clone());
        let always = asked.always.as_ref().map(ToString::to_string);
        let approval = Approval { id: id.clone(), tool, arguments, reasons, always };
        let question = self.events.ask(id, Event::Approval(approval));
        Pending { call, asked, question }
    }

    /// What the answer means for the call.
    pub(super) async fn after_decision(&self, decided: Decided) -> StepResult<Settled> {
        let Decided { call, asked, decision } = decided;
        match decision {
            Decision::Allow => self.allowed(call, &asked).await,
            Decision::Always => {
                if let Some(rule) = &asked.always
                    && let Err(error) = self.core.permissions.remember(rule)
                {
                    self.emit(Event::Notice(format!("The rule could not be stored: {error}")));
                }
                self.allowed(call, &asked).await
            }
            Decision::Edited(arguments) => self.edited(call, &asked, arguments).await,
            Decision::Deny { instead: Some(words) } => {
                Ok(call.denied(&format!("the user did not allow this call and says: {words}")))
            }
            Decision::Deny { instead: None } => Ok(call.denied(DECLINED)),
        }
    }

    /// What was shown is what runs, or nothing does.
    async fn allowed(&self, call: Call, asked: &Asked) -> StepResult<Settled> {
        Ok(self.still_holds(call, asked).await?.map_or_else(|denied| denied, Settled::Run))
    }

    /// The call with the tool as it is now, where that and everything around it is what the person was asked about.
    async fn still_holds(&self, call: Call, asked: &Asked) -> StepResult<Result<Call, Settled>> {
        let member = match self.core.agent().toolset.check(call.name()) {
            Ok(member) => member,
            Err(gone) => return Ok(Err(call.denied(&gone.to_string()))),
        };
        let shown = asked.shown.clone();
        let (call, holds) = self
            .consult(Call { member, ..call }, move |permissions, now| permissions.still_holds(&shown, now))
            .await?;
        Ok(match holds {
            Ok(()) => Ok(call),
            Err(void) => Err(call.denied(&void.to_string())),
        })
    }

    /// The person wrote other arguments: they are checked as the model's are, but nobody is asked again.
    async fn edited(&self, call: Call, asked: &Asked, arguments: JsonObject) -> StepResult<Settled> {
        let call = match self.still_holds(call, asked).await? {
            Ok(call) => call,
            Err(denied) => return Ok(denied),
        };
        match call.member.tool.check(arguments) {
            Ok(arguments) => {
                let changed = serde_json::Value::Object(arguments.clone());
                let note = format!("(The user changed the arguments of this call to {}.)", brief(&changed));
                let judged = self.judge(Call { arguments, note: Some(note), ..call }).await?;
                Ok(match judged {
                    Checked::Ask(call, _) => Settled::Run(call),
                    Checked::Settled(decided) => decided,
                })
            }
            Err(error) => {
                Ok(call.denied(&format!("the user changed the arguments, and they do not fit. {error}")))
            }
        }
    }
}
