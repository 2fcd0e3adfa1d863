//! Questions and output of extensions. Questions are events that the user answers by id; output outside of
//! calls is an event as well.

use std::sync::{Arc, Weak};

use goose_extension::{
    Answer as ToolAnswer, Model, Notifier, Question, QuestionKind, RichRenderable, Sampling, ToolError,
    ToolResult,
};

use super::{
    event::{Answer, ConsentRequest, ElicitationRequest, Event},
    event_hub::{EventHub, EventSink},
};

/// Notifier for extensions that are built with one. Reports output as events, and to the program's notifier.
pub(crate) struct SessionNotifier {
    // Weak: an extension must not keep the hub of a closed session alive.
    hub: Weak<EventHub>,
    notifier: Arc<dyn Notifier>,
}

impl SessionNotifier {
    pub(crate) fn new(hub: &Arc<EventHub>, notifier: Arc<dyn Notifier>) -> Self {
        Self { hub: Arc::downgrade(hub), notifier }
    }

    fn emit(&self, event: Event) {
        if let Some(hub) = self.hub.upgrade() {
            hub.outside().emit(event);
        }
    }
}

impl Notifier for SessionNotifier {
    fn log(&self, content: RichRenderable) {
        self.emit(Event::Log { call: None, content: content.clone() });
        self.notifier.log(content);
    }

    fn status(&self, message: String) {
        self.emit(Event::Status { call: None, message: message.clone() });
        self.notifier.status(message);
    }
}

impl EventSink {
    /// Returns true if the user can answer such a question.
    pub(super) fn can_answer(&self, kind: QuestionKind) -> bool {
        kind != QuestionKind::Roots && self.is_attended()
    }

    /// Asks the user a tool's question. The model is asked only with the user's consent. Dropping the future
    /// withdraws the question.
    ///
    /// # Errors
    ///
    /// Fails if there is no user interface, or the user does not consent.
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
                let question = Box::new(question);
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

/// Returns the text of a request to the model.
fn prompt_text(request: &Sampling) -> String {
    let system = request.system_prompt().into_iter().map(str::to_owned);
    system.chain(request.messages().map(|(_, text)| text)).collect::<Vec<_>>().join("\n")
}
