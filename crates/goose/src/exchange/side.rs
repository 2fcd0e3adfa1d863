//! [`Side`]: what a tool that runs says on the side, and whom it can ask back.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{
    Answer, Caller, CallerId, LogEntry, Notifier, Progress, Question, QuestionKind, RichRenderable,
    ToolError, ToolResult,
};
use tokio::sync::mpsc;

use super::event::Event;

/// How much tools may say before it is told; what is more is lost.
pub(super) const SIDE_CAPACITY: usize = 512;

/// How much of that is kept free for what is worth more than progress.
const KEPT_FOR_LOGS: usize = 128;

/// One running call, as its tool sees it.
pub(super) struct Side {
    pub(super) id: String,
    pub(super) news: mpsc::Sender<Event>,
    pub(super) notifier: Arc<dyn Notifier>,
    /// Who answers questions.
    pub(super) caller: Option<Arc<dyn Caller>>,
}

impl Side {
    fn show(&self, content: RichRenderable) {
        // A tool is not kept waiting; it has said more than anybody can read.
        let _ = self.news.try_send(Event::ToolLog { id: self.id.clone(), content });
    }
}

impl Notifier for Side {
    fn log(&self, content: RichRenderable) {
        self.show(content.clone());
        self.notifier.log(content);
    }

    fn status(&self, message: String) {
        self.notifier.status(message);
    }
}

#[async_trait]
impl Caller for Side {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        match &self.caller {
            Some(caller) => caller.ask(key, question).await,
            None => Err(ToolError::execution("Nobody is there to answer that. Do without the answer.")),
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.can_answer(kind))
    }

    fn id(&self) -> CallerId {
        match &self.caller {
            Some(caller) => caller.id(),
            None => CallerId::from_object(&*self.notifier),
        }
    }

    fn progress(&self, progress: Progress) {
        let Some(message) = progress.message.filter(|_| self.news.capacity() > KEPT_FOR_LOGS) else { return };
        let _ = self.news.try_send(Event::ToolProgress { id: self.id.clone(), message });
    }

    fn log(&self, entry: LogEntry) {
        self.show(entry.data.into());
    }
}
