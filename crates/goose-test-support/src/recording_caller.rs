//! [`RecordingCaller`]: remembers what a tool reported, and answers what it asked.

use std::sync::Arc;

use goose_extension::{
    Answer, CallContext, Caller, ElicitAction, Elicited, LogEntry, Notifier, Progress, Question,
    QuestionKind, RichRenderable, Root, Sampled, ToolResult, prelude::*,
};
use parking_lot::Mutex;

/// A caller that records all that a tool is told and says, in order, as text.
#[derive(Default)]
pub struct RecordingCaller {
    seen: Mutex<Vec<String>>,
    declines: bool,
}

impl RecordingCaller {
    /// A recorder that answers every question.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A recorder that declines to fill in forms.
    pub fn declining() -> Arc<Self> {
        Arc::new(Self { declines: true, ..Self::default() })
    }

    /// A context in which this recorder is the caller and the notifier.
    pub fn context(self: &Arc<Self>) -> CallContext {
        CallContext::new().with_caller(self.clone()).with_notifier(self.clone())
    }

    /// Returns the events so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }

    fn note(&self, what: String) {
        self.seen.lock().push(what);
    }

    fn fill_in(&self, schema: &Value) -> Elicited {
        if self.declines {
            return Elicited::new(ElicitAction::Decline);
        }
        let names = schema["properties"].as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
        let content = names.unwrap_or_default().into_iter().map(|name| (name, json!("Ada"))).collect();
        Elicited::new(ElicitAction::Accept).with_content(Value::Object(content))
    }
}

#[async_trait]
impl Caller for RecordingCaller {
    async fn ask(&self, _key: &str, question: Question) -> ToolResult<Answer> {
        self.note(format!("asked: {:?}", question.kind()));
        Ok(match question {
            Question::Elicit(request) => {
                let request = serde_json::to_value(&request)?;
                Answer::Elicited(self.fill_in(&request["requestedSchema"]))
            }
            Question::Sample(request) => {
                let last = request.messages().last().map(|(_, text)| text).unwrap_or_default();
                Answer::Sampled(Sampled::new("recorder", format!("You said: {last}")))
            }
            _ => Answer::Roots(vec![Root::new("file:///work/here").with_name("here")]),
        })
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }

    fn progress(&self, progress: Progress) {
        self.note(format!("progress: {}/{:?} {:?}", progress.done, progress.total, progress.message));
    }

    fn log(&self, entry: LogEntry) {
        self.note(format!("entry: {:?} {:?} {}", entry.level, entry.logger, entry.data));
    }
}

impl Notifier for RecordingCaller {
    fn log(&self, content: RichRenderable) {
        self.note(format!("log: {content:?}"));
    }

    fn status(&self, message: String) {
        self.note(format!("status: {message}"));
    }
}
