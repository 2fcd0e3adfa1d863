//! [`Side`]: a running call as its tool sees it: what it reports on the side, and whom it can ask.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{
    Answer, Caller, CallerId, LogEntry, Model, Notifier, Progress, Question, QuestionKind, RichRenderable,
    ToolResult,
};

use super::{event::Event, event_hub::EventSink};

/// One running call, as its tool sees it.
pub(super) struct Side {
    pub(super) id: String,
    pub(super) events: EventSink,
    pub(super) notifier: Arc<dyn Notifier>,
    /// Answers questions in place of the session's user interface.
    pub(super) caller: Option<Arc<dyn Caller>>,
    /// The model that the tool may use, with the user's consent.
    pub(super) model: Arc<dyn Model>,
}

impl Side {
    fn show(&self, content: RichRenderable) {
        self.events.emit(Event::Log { call: Some(self.id.clone()), content });
    }
}

impl Notifier for Side {
    fn log(&self, content: RichRenderable) {
        self.show(content.clone());
        self.notifier.log(content);
    }

    fn status(&self, message: String) {
        self.events.emit(Event::Status { call: Some(self.id.clone()), message: message.clone() });
        self.notifier.status(message);
    }
}

#[async_trait]
impl Caller for Side {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        match &self.caller {
            Some(caller) => caller.ask(key, question).await,
            None => self.events.ask_user(&self.id, key, question, &*self.model).await,
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        match &self.caller {
            Some(caller) => caller.can_answer(kind),
            None => self.events.can_answer(kind),
        }
    }

    fn id(&self) -> CallerId {
        self.caller.as_ref().map_or_else(|| self.events.caller_id(), |caller| caller.id())
    }

    fn progress(&self, progress: Progress) {
        if let Some(message) = progress.message {
            self.events.emit(Event::ToolProgress { id: self.id.clone(), message });
        }
    }

    fn log(&self, entry: LogEntry) {
        self.show(entry.data.into());
    }
}
