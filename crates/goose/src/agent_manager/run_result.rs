//! The result of a run for the model that asked for it.

use goose_extension::{MessageContent, Role, ToolError, ToolResult};

use crate::exchange::{Exchange, Outcome};

/// Maximum length of a result, in bytes.
const MAX_RESULT: usize = 50_000;

/// Result of a delegate that was cancelled.
pub(super) const CANCELLED: &str = "The delegate was cancelled.";

/// Returns the text of the model's last message.
pub(super) fn last_answer(exchange: &Exchange) -> String {
    let messages = exchange.messages();
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let texts = last.iter().flat_map(|message| message.content.iter().filter_map(MessageContent::as_text));
    let text = texts.collect::<Vec<_>>().join("\n");
    goose_fs::truncate_lines(text, MAX_RESULT, |rest| {
        format!("(The answer is cut here; {} more bytes are in the session.)", rest.len())
    })
}

/// Advice to a model whose delegate failed.
const NEXT: &str = "Do the task yourself or give it to another agent, or try once more.";

pub(super) fn result(outcome: Outcome, answer: String) -> ToolResult<String> {
    let unfinished = |reason: String| {
        let answer = if answer.is_empty() { String::new() } else { format!(" It last said:\n{answer}") };
        Err(ToolError::execution(format!("The delegate did not finish: {reason}.{answer}")))
    };
    match outcome {
        Outcome::Done { .. } => Ok(answer),
        Outcome::Cancelled => Err(ToolError::Cancelled(CANCELLED.to_owned())),
        Outcome::Failed(failure) => {
            let hint = failure.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
            Err(ToolError::execution(format!("The delegate failed: {}{hint} {NEXT}", failure.message)))
        }
        Outcome::MaxTurns(turns) => unfinished(format!(
            "it reached its limit of {turns} turns. Give it a smaller task, or a higher `max_turns`"
        )),
        Outcome::MaxTokens => unfinished("its answer reached the greatest length".to_owned()),
        Outcome::Refused => unfinished("the model refused".to_owned()),
        Outcome::Empty => unfinished("the model answered nothing".to_owned()),
    }
}
