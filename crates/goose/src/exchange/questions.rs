//! Questions of running tools: put to the user as events, and answered by id.

use goose_extension::{Answer as ToolAnswer, Model, Question, QuestionKind, Sampling, ToolError, ToolResult};

use super::{
    event::{Answer, ConsentRequest, ElicitationRequest, Event},
    event_hub::EventSink,
};

impl EventSink {
    /// Whether the user can answer such a question.
    pub(super) fn can_answer(&self, kind: QuestionKind) -> bool {
        kind != QuestionKind::Roots && self.is_attended()
    }

    /// Puts a tool's question to the user. The model is asked only with the user's consent. The question is withdrawn
    /// where the tool does not wait for the answer.
    ///
    /// # Errors
    ///
    /// Where there is no user interface, or the user does not consent.
    pub(super) async fn ask_user(
        &self,
        call: &str,
        key: &str,
        question: Question,
        model: &dyn Model,
    ) -> ToolResult<ToolAnswer> {
        if !self.can_answer(question.kind()) {
            return Err(ToolError::execution(
                "No user is there to answer that. Continue without the answer.",
            ));
        }
        let (id, call) = (self.question_id(call), call.to_owned());
        // The manager puts the extension's name before the key.
        let extension = key.split_once('/').map_or(key, |(extension, _)| extension).to_owned();
        match question {
            Question::Elicit(question) => {
                let request = ElicitationRequest { id: id.clone(), call, extension, question };
                match self.ask(id, Event::Elicitation(request)).answer().await {
                    Some(Answer::Elicited(elicited)) => Ok(ToolAnswer::Elicited(elicited)),
                    _ => Err(withdrawn()),
                }
            }
            Question::Sample(request) => {
                let denied = format!("The user does not allow `{extension}` to use the model.");
                let prompt = prompt_text(&request);
                let consent = ConsentRequest { id: id.clone(), call, extension, prompt };
                match self.ask(id, Event::Consent(consent)).answer().await {
                    Some(Answer::Consent(true)) => Ok(ToolAnswer::Sampled(model.sample(request).await?)),
                    Some(_) => Err(ToolError::Denied(denied)),
                    None => Err(withdrawn()),
                }
            }
            _ => Err(withdrawn()),
        }
    }
}

fn withdrawn() -> ToolError {
    ToolError::Denied("The question was not answered.".to_owned())
}

/// The text of a request to the model.
fn prompt_text(request: &Sampling) -> String {
    let system = request.system_prompt().into_iter().map(str::to_owned);
    system.chain(request.messages().map(|(_, text)| text)).collect::<Vec<_>>().join("\n")
}
