//! [`Judgement`]: a verdict on a result and its criteria, by the mode `judge`. It is read from the model's text, never through a
//! tool.

use std::sync::Arc;

use goose_extension::{Model as _, Sampling};
use serde::{Deserialize, Serialize};

use super::{core::Core, event::Failure, handle::Exchange, usage_ledger::SamplingModel};
use crate::agents::{catalog::AgentCatalog, goose_agent};

/// The most tokens of a verdict.
const MAX_TOKENS: u32 = 2_000;

/// The number of times that the model is asked for a verdict that can be read.
const MAX_ATTEMPTS: usize = 2;

/// A verdict on a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// True if the result meets its criteria.
    pub pass: bool,
    /// The reasons, one for each criterion.
    #[serde(default)]
    pub reasons: Vec<String>,
}

impl Judgement {
    /// Reads a verdict from an answer: the first JSON object in it that is one.
    pub fn parse(answer: &str) -> Option<Self> {
        answer.match_indices('{').find_map(|(at, _)| {
            let mut values = serde_json::Deserializer::from_str(&answer[at..]).into_iter();
            values.next()?.ok()
        })
    }
}

impl Exchange {
    /// Judges a result by its criteria. The conversation is neither seen nor changed; the cost is the session's.
    ///
    /// # Errors
    ///
    /// Fails if the model gives no answer, or none that can be read.
    pub async fn judge(&self, result: &str, criteria: &str) -> Result<Judgement, Failure> {
        self.core.judge(result, criteria).await
    }
}

impl Core {
    /// Judges a result, as [`Exchange::judge`] does.
    pub(super) async fn judge(&self, result: &str, criteria: &str) -> Result<Judgement, Failure> {
        let judge = AgentCatalog::builtin().find(&format!("{}/{}", goose_agent::NAME, goose_agent::JUDGE));
        let instructions = judge.map(|(_, mode)| mode.instructions).unwrap_or_default();
        let prompt = format!("<criteria>\n{criteria}\n</criteria>\n\n<result>\n{result}\n</result>");
        let model = SamplingModel { model: self.processor(), usage: Arc::clone(&self.usage) };
        for _ in 0..MAX_ATTEMPTS {
            let request =
                Sampling::new(prompt.as_str(), MAX_TOKENS).with_system_prompt(instructions.as_str());
            let answer = model.sample(request).await.map_err(|error| failure(error.to_string()))?;
            if let Some(judgement) = Judgement::parse(&answer.text()) {
                return Ok(judgement);
            }
        }
        Err(failure("The model gave no verdict that can be read.".to_owned()))
    }
}

fn failure(message: String) -> Failure {
    Failure { message, hint: Some("Try again, or use another model.".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_from_any_text_around_it() {
        let expected = Judgement { pass: false, reasons: vec!["No test.".to_owned()] };
        for answer in [
            r#"{"pass": false, "reasons": ["No test."]}"#,
            "I looked at {it}.\n```json\n{\"pass\": false, \"reasons\": [\"No test.\"]}\n```\nDone.",
        ] {
            assert_eq!(Judgement::parse(answer), Some(expected.clone()), "{answer}");
        }
        assert_eq!(Judgement::parse("It passes."), None);
        assert_eq!(Judgement::parse(r#"{"pass": "maybe"}"#), None);
    }
}
