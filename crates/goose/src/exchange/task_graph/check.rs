//! The verdict of the judge on a result, where `orchestrator.check` is on.

use std::{fmt::Write as _, sync::atomic::Ordering};

use goose_extension::{MessageContent, Role};

use crate::{
    exchange::{
        event::{Event, Outcome},
        reply_task::{Abort, ReplyTask, StepResult},
    },
    session::{Step, said},
};

/// The most bytes of a result that the judge reads.
const MAX_RESULT_BYTES: usize = 60_000;

/// The most bytes of one call that the judge reads.
const MAX_CALL_BYTES: usize = 4_000;

/// The results that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Checked {
    /// The joined results of tasks.
    Tasks,
    /// A single reply, if it changed files.
    Reply,
}

impl ReplyTask {
    /// Checks a result against the request, once. The verdict is shown; nothing is repaired because of it.
    pub(in super::super) async fn check_result(
        &mut self,
        outcome: &Outcome,
        what: Checked,
    ) -> StepResult<()> {
        let is_due = what == Checked::Tasks || self.has_written.load(Ordering::Relaxed);
        if !self.core.task_settings.check || !is_due || !matches!(outcome, Outcome::Done { .. }) {
            return Ok(());
        }
        let Some((request, result)) = self.request_and_result() else { return Ok(()) };
        let core = self.core.clone();
        let judged = self.cancellation.run_until_cancelled(core.judge(&result, &request)).await;
        match judged.ok_or(Abort::Cancelled)? {
            Ok(judgement) => {
                let word = if judgement.pass { "passed" } else { "failed" };
                let content = format!("Check {word}. {}", judgement.reasons.join(" "));
                self.record(Step::Log { content: content.trim_end().into(), call: None }).await?;
                self.emit(Event::Checked(judgement));
            }
            Err(failure) => {
                self.emit(Event::Notice(format!("The result could not be checked: {}", failure.message)));
            }
        }
        self.report_session_cost();
        self.flush_usage().await
    }

    /// The last request of the user, and what came of it: the answer, the calls, and the results of tasks.
    fn request_and_result(&self) -> Option<(String, String)> {
        let messages = self.state.conversation.messages();
        let at =
            messages.iter().rposition(|message| message.role == Role::User && !said(message).is_empty())?;
        let mut result = String::new();
        for message in &messages[at..] {
            for part in &message.content {
                let is_answer = message.role == Role::Assistant || part.is_aside();
                match part {
                    MessageContent::ToolCall { name, arguments, .. } => {
                        let arguments = arguments.to_string();
                        let arguments = &arguments[..arguments.floor_char_boundary(MAX_CALL_BYTES)];
                        let _ = writeln!(result, "Call of {name}: {arguments}");
                    }
                    part if is_answer => {
                        let _ = writeln!(result, "{}", part.as_text().unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
        let result = goose_fs::truncate_lines(result, MAX_RESULT_BYTES, |rest| {
            format!("(Cut here; {} more bytes.)", rest.len())
        });
        Some((said(&messages[at]), result))
    }
}
