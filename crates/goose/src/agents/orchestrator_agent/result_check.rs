//! The verdict of the mode `judge` on a result. It is parsed from the model's text, not from a tool call.

use std::{
    fmt::Write as _,
    sync::{Arc, atomic::Ordering},
};

use goose_extension::{MessageContent, Model as _, Role, Sampling};

use super::{CheckTarget, RequestHandler};
use crate::{
    agents::{catalog::AgentCatalog, goose_agent},
    exchange::{Abort, Event, Exchange, Failure, LoopContext, Outcome, ResultCheck, StepResult},
    session::{Step, synthetic_message},
};

/// Maximum number of tokens of a verdict.
const MAX_TOKENS: u32 = 2_000;

/// Maximum number of requests for a verdict that can be parsed.
const MAX_ATTEMPTS: usize = 2;

/// Maximum size of a result that the judge reads.
const MAX_RESULT_BYTES: usize = 60_000;

/// Maximum size of one call that the judge reads.
const MAX_CALL_BYTES: usize = 4_000;

/// Message to the agent after a failed check.
const TRY_AGAIN: &str = "A check of your result against the request failed. Do what is missing now, with your tools, and say what you did:";

/// Report to the user after a second failed check.
const NOT_MET: &str = "The result does not meet the request yet:";

/// Parses a verdict: the first JSON object in the answer that is one.
fn parse(answer: &str) -> Option<ResultCheck> {
    answer.match_indices('{').find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&answer[at..]).into_iter();
        values.next()?.ok()
    })
}

impl Exchange {
    /// Judges a result by criteria. The conversation is neither read nor changed; the cost is added to the
    /// session.
    ///
    /// # Errors
    ///
    /// Fails if the model gives no answer, or none that can be parsed.
    pub async fn judge(&self, result: &str, criteria: &str) -> Result<ResultCheck, Failure> {
        judge(&self.context, result, criteria).await
    }
}

async fn judge(context: &LoopContext, result: &str, criteria: &str) -> Result<ResultCheck, Failure> {
    let judge = AgentCatalog::builtin().find(&goose_agent::id(goose_agent::JUDGE));
    let instructions = judge.map(|(_, mode)| mode.instructions).unwrap_or_default();
    let prompt = format!("<criteria>\n{criteria}\n</criteria>\n\n<result>\n{result}\n</result>");
    let model = context.sampling_model();
    for _ in 0..MAX_ATTEMPTS {
        let request = Sampling::new(prompt.as_str(), MAX_TOKENS).with_system_prompt(instructions.as_str());
        let answer = model.sample(request).await.map_err(|error| failure(error.to_string()))?;
        if let Some(verdict) = parse(&answer.text()) {
            return Ok(verdict);
        }
    }
    Err(failure("The model gave no verdict that can be read.".to_owned()))
}

fn listed(reasons: &[String]) -> String {
    reasons.iter().map(|reason| format!("- {reason}")).collect::<Vec<_>>().join("\n")
}

fn failure(message: String) -> Failure {
    Failure { message, hint: Some("Try again, or use another model.".to_owned()) }
}

impl RequestHandler<'_> {
    /// Checks a result against the request, if that is enabled. After a failed check the agent tries once
    /// more with the verdict. If that fails too, the user gets a report.
    pub(super) async fn check_result(&mut self, outcome: Outcome, what: CheckTarget) -> StepResult<Outcome> {
        let Some(verdict) = self.verdict(&outcome, what).await?.filter(|verdict| !verdict.pass) else {
            return Ok(outcome);
        };
        if self.work.context.agent().external.is_some() {
            return Ok(outcome);
        }
        let told = format!("{TRY_AGAIN}\n{}", listed(&verdict.reasons));
        self.work.record(Step::Message { message: synthetic_message(told) }).await?;
        let outcome = self.answer(None).await?;
        if let Some(verdict) =
            self.verdict(&outcome, CheckTarget::Tasks).await?.filter(|verdict| !verdict.pass)
        {
            let report = format!("{NOT_MET}\n{}", listed(&verdict.reasons));
            self.work.emit(Event::Text(format!("\n\n{report}")));
            self.work.say(report).await?;
        }
        Ok(outcome)
    }

    /// Returns the verdict on a result, if the result has to be checked and the check succeeds.
    async fn verdict(&mut self, outcome: &Outcome, what: CheckTarget) -> StepResult<Option<ResultCheck>> {
        let is_due = what == CheckTarget::Tasks || self.work.has_written.load(Ordering::Relaxed);
        if !self.orchestrator.settings.check || !is_due || !matches!(outcome, Outcome::Done { .. }) {
            return Ok(None);
        }
        let Some((request, result)) = self.request_and_result() else { return Ok(None) };
        let context = Arc::clone(&self.work.context);
        let judged = self.work.cancellation.run_until_cancelled(judge(&context, &result, &request)).await;
        let verdict = match judged.ok_or(Abort::Cancelled)? {
            Ok(verdict) => {
                let word = if verdict.pass { "passed" } else { "failed" };
                let content = format!("Check {word}. {}", verdict.reasons.join(" "));
                self.work.record(Step::Log { content: content.trim_end().into(), call: None }).await?;
                self.work.emit(Event::Checked(verdict.clone()));
                Some(verdict)
            }
            Err(failure) => {
                let notice = format!("The result could not be checked: {}", failure.message);
                self.work.emit(Event::Notice(notice));
                None
            }
        };
        self.work.report_session_cost();
        self.work.flush_usage().await?;
        Ok(verdict)
    }

    /// Returns the last request of the user, and its result: the answer, the calls, and the results of tasks.
    fn request_and_result(&self) -> Option<(String, String)> {
        let messages = self.work.state.conversation.messages();
        let at = messages
            .iter()
            .rposition(|message| message.role == Role::User && !message.own_text().is_empty())?;
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
                    part if is_answer && !part.as_text().is_some_and(|text| text.starts_with(TRY_AGAIN)) => {
                        let _ = writeln!(result, "{}", part.as_text().unwrap_or_default());
                    }
                    _ => {}
                }
            }
        }
        let result = goose_fs::truncate_lines(result, MAX_RESULT_BYTES, |rest| {
            format!("(Cut here; {} more bytes.)", rest.len())
        });
        Some((messages[at].own_text(), result))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_from_any_text_around_it() {
        let expected = ResultCheck { pass: false, reasons: vec!["No test.".to_owned()] };
        for answer in [
            r#"{"pass": false, "reasons": ["No test."]}"#,
            "I looked at {it}.\n```json\n{\"pass\": false, \"reasons\": [\"No test.\"]}\n```\nDone.",
        ] {
            assert_eq!(parse(answer), Some(expected.clone()), "{answer}");
        }
        assert_eq!(parse("It passes."), None);
        assert_eq!(parse(r#"{"pass": "maybe"}"#), None);
    }
}
