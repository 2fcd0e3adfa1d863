//! [`TerminalCaller`]: the user who calls a tool from the command line. They see its progress and its log, and answer
//! its questions at a terminal.

use std::sync::Arc;

use goose_extension::{
    Answer, Caller, CallerId, LogEntry, LogLevel, Notifier, Progress, Question, QuestionKind, RichRenderable,
    ToolError, ToolResult, prelude::async_trait,
};
use serde_json::Value;

use crate::{escape, output::FAINT, prompts, stderr, terminal::input::Input};

/// The way in which progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// Lines, and one that changes.
    Terminal,
    /// Lines only.
    Lines,
    Nothing,
}

/// The user who called.
pub(crate) struct TerminalCaller {
    view: View,
    can_answer: bool,
    /// The least level of log messages that are shown.
    least_level: LogLevel,
    /// The keyboard, for one question at a time.
    input: Arc<Input>,
    id: CallerId,
}

impl TerminalCaller {
    /// The user at this terminal. `verbose` shows progress also without a terminal.
    pub(crate) fn new(verbose: bool) -> Self {
        let view = match (stderr::is_seen(), verbose) {
            (true, _) => View::Terminal,
            (false, true) => View::Lines,
            (false, false) => View::Nothing,
        };
        let least_level = if verbose { LogLevel::Debug } else { LogLevel::Info };
        let input = Arc::new(Input::new(None));
        Self { view, can_answer: stderr::can_ask(), least_level, input, id: CallerId::unique() }
    }

    /// The user at a keyboard that others read as well.
    pub(crate) fn at(input: Arc<Input>) -> Self {
        Self { input, ..Self::new(false) }
    }

    /// The same user as a notifier.
    pub(crate) fn as_notifier(self: &Arc<Self>) -> Arc<dyn Notifier> {
        Arc::new(Told(Arc::clone(self)))
    }

    fn show(&self, line: &str) {
        if self.view != View::Nothing {
            stderr::line(format_args!("{FAINT}{}{FAINT:#}", escape::text(line)));
        }
    }

    fn show_for_a_while(&self, line: &str) {
        match self.view {
            View::Terminal => stderr::status(line),
            View::Lines => self.show(line),
            View::Nothing => {}
        }
    }
}

#[async_trait]
impl Caller for TerminalCaller {
    fn id(&self) -> Option<CallerId> {
        Some(self.id.clone())
    }

    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        // The manager puts the extension's name before the key.
        let extension = key.split_once('/').map_or(key, |(extension, _)| extension);
        match question {
            Question::Elicit(question) if self.can_answer => {
                let turn = self.input.turn().await;
                Ok(Answer::Elicited(prompts::elicit(&turn, extension, question).await))
            }
            _ => Err(ToolError::Denied("There is no terminal to ask the user.".to_owned())),
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        self.can_answer && matches!(kind, QuestionKind::ElicitForm | QuestionKind::ElicitUrl)
    }

    fn progress(&self, progress: Progress) {
        let done = match progress.total {
            Some(total) => format!("{} of {total}", progress.done),
            None => progress.done.to_string(),
        };
        match progress.message {
            Some(message) => self.show_for_a_while(&format!("{done}: {message}")),
            None => self.show_for_a_while(&done),
        }
    }

    fn log(&self, entry: LogEntry) {
        if entry.level < self.least_level {
            return;
        }
        let text = match entry.data {
            Value::String(text) => text,
            data => data.to_string(),
        };
        let level = format!("{:?}", entry.level).to_ascii_lowercase();
        match entry.logger {
            Some(logger) => self.show(&format!("{level} ({logger}): {text}")),
            None => self.show(&format!("{level}: {text}")),
        }
    }
}

/// Shows log entries and status to the user.
struct Told(Arc<TerminalCaller>);

impl Notifier for Told {
    fn log(&self, content: RichRenderable) {
        self.0.show(&content.plain());
    }

    fn status(&self, message: String) {
        self.0.show_for_a_while(&message);
    }
}
