//! Checking what the model asks for, before anything runs: is it a tool that it has, do the arguments fit, is it the same
//! again and again, and may it run. The order is fixed: toolset, arguments, policy, and then only dispatch.

use std::{path::Path, sync::Arc};

use goose_extension::{JsonObject, Tool, ToolOutput};
use goose_providers::{Arguments, StopReason, ToolCall};

use super::{
    ask_model::{ModelAnswer, as_value},
    event::{Failure, ToolEnd},
    final_output::{ACCEPTED, FINAL_OUTPUT},
    repetition::Repeated,
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::{
    agents::toolset::Member,
    permission::{CallToJudge, Permissions, Rule, Shown, Verdict},
};

/// How many fields of a tool an error names.
const MAX_FIELDS: usize = 20;

/// A call that passed the toolset and the check of its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) member: Arc<Member>,
    pub(super) arguments: JsonObject,
    /// What the model has to know besides the result.
    pub(super) note: Option<String>,
}

/// Why a person is asked about a call.
pub(super) struct Asked {
    pub(super) reasons: Vec<String>,
    /// The rule that "always" would store.
    pub(super) always: Option<Rule>,
    /// What the answer is about.
    pub(super) shown: Shown,
}

/// What is to be done with a call.
pub(super) enum Checked {
    /// It is decided.
    Settled(Settled),
    /// Ask a person first.
    Ask(Call, Asked),
}

/// What was decided about a call.
pub(super) enum Settled {
    /// Run it.
    Run(Call),
    /// Do not run it; the model reads why.
    No { id: String, name: String, output: ToolOutput, end: ToolEnd },
}

impl ReplyTask {
    /// What is to be done with each call of an answer.
    pub(super) async fn check(
        &mut self,
        answer: &ModelAnswer,
        calls: Vec<ToolCall>,
    ) -> StepResult<Vec<Checked>> {
        self.repetition.next_turn();
        let mut checked = Vec::with_capacity(calls.len());
        for call in calls {
            checked.push(self.check_call(answer, call).await?);
        }
        Ok(checked)
    }

    async fn check_call(&mut self, answer: &ModelAnswer, call: ToolCall) -> StepResult<Checked> {
        let ToolCall { id, name, arguments, .. } = call;
        let checked = match self.passes(answer, &name, arguments) {
            Ok(Passed::Final) => Err((ToolOutput::text(ACCEPTED), ToolEnd::Ran)),
            Ok(Passed::Call(member, arguments)) => Ok(Call { id: id.clone(), member, arguments, note: None }),
            Err(words) => Err((ToolOutput::error(words), ToolEnd::Rejected)),
        };
        match checked {
            Ok(call) => self.judge(call).await,
            Err((output, end)) => Ok(Checked::Settled(Settled::No { id, name, output, end })),
        }
    }

    /// Everything but the policy. The error is for the model.
    fn passes(&mut self, answer: &ModelAnswer, name: &str, arguments: Arguments) -> Result<Passed, String> {
        if answer.stop == StopReason::Refused {
            return Err("Not run: the answer was refused before it was complete.".to_owned());
        }
        self.not_again(name, &arguments)?;
        if name == FINAL_OUTPUT
            && let Some(output) = &self.core.final_output
        {
            let arguments = well_formed(answer, output.tool(), arguments)?;
            self.structured = Some(output.accept(arguments)?);
            return Ok(Passed::Final);
        }
        let member = self.core.agent().toolset.check(name).map_err(|error| error.to_string())?;
        let arguments = well_formed(answer, &member.tool, arguments)?;
        let arguments = member.tool.check(arguments).map_err(|error| error.to_string())?;
        Ok(Passed::Call(member, arguments))
    }

    fn not_again(&mut self, name: &str, arguments: &Arguments) -> Result<(), String> {
        let times = match self.repetition.count(name, &as_value(arguments)) {
            Repeated::Fine => return Ok(()),
            Repeated::TooOften(times) => times,
            Repeated::Hopeless(times) => {
                self.stuck = Some(Failure {
                    message: format!(
                        "The model asked for `{name}` with the same arguments {times} times in a row."
                    ),
                    hint: Some("Tell it what to do differently, or use another model.".to_owned()),
                });
                times
            }
        };
        Err(format!(
            "Not run: this is call number {times} in a row of `{name}` with exactly these arguments, and the result \
             will be the same. Use the results that you have, do something else, or say what keeps you from going on."
        ))
    }

    /// The policy.
    pub(super) async fn judge(&self, call: Call) -> StepResult<Checked> {
        let (call, verdict) = self.consult(call, Permissions::judge).await?;
        Ok(match verdict {
            Verdict::Allow => Checked::Settled(Settled::Run(call)),
            Verdict::Ask { reasons, always, shown } => Checked::Ask(call, Asked { reasons, always, shown }),
            Verdict::Deny { reason } => Checked::Settled(call.denied(&reason)),
        })
    }

    /// Asks the permissions about a call. What takes them long is not asked on the thread that everything else runs on.
    pub(super) async fn consult<T: Send + 'static>(
        &self,
        call: Call,
        question: impl FnOnce(&Permissions, &CallToJudge<'_>) -> T + Send + 'static,
    ) -> StepResult<(Call, T)> {
        let to_judge = call.to_judge(&self.core.working_dir);
        if !to_judge.takes_long() {
            let answer = question(&self.core.permissions, &to_judge);
            return Ok((call, answer));
        }
        let (permissions, folder) = (Arc::clone(&self.core.permissions), self.core.working_dir.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let answer = question(&permissions, &call.to_judge(&folder));
            (call, answer)
        });
        let answered = self.cancellation.run_until_cancelled(asked).await.ok_or(Abort::Cancelled)?;
        answered.map_err(|error| Abort::failed(format!("A call could not be judged: {error}"), None))
    }
}

enum Passed {
    Call(Arc<Member>, JsonObject),
    /// The final answer, which is taken already.
    Final,
}

impl Call {
    pub(super) fn name(&self) -> &str {
        self.member.tool.name()
    }

    /// The call as the policy looks at it.
    pub(super) fn to_judge<'a>(&'a self, working_dir: &'a Path) -> CallToJudge<'a> {
        self.member.call(&self.arguments, working_dir)
    }

    /// The call is not made because a rule or a person says so.
    pub(super) fn denied(self, reason: &str) -> Settled {
        let output = ToolOutput::error(format!("Not run: {reason}"));
        Settled::No { name: self.name().to_owned(), id: self.id, output, end: ToolEnd::Denied }
    }
}

/// The arguments as an object.
fn well_formed(answer: &ModelAnswer, tool: &Tool, arguments: Arguments) -> Result<JsonObject, String> {
    match arguments {
        Arguments::Object(object) => Ok(object),
        Arguments::Malformed { .. } if answer.stop == StopReason::MaxTokens => Err(format!(
            "Not run: your answer reached its greatest length in the middle of this call of `{}`. \
             Do less in one call, for example write a long file in several parts.",
            tool.name()
        )),
        Arguments::Malformed { why, .. } => Err(format!(
            "Not run: the arguments of `{}` cannot be read: {why}. Call it again with one JSON object. {}",
            tool.name(),
            fields(tool)
        )),
    }
}

/// What a tool takes, in words.
fn fields(tool: &Tool) -> String {
    let schema = tool.input_schema();
    let required: Vec<&str> = schema
        .get("required")
        .and_then(|names| names.as_array())
        .map(|names| names.iter().filter_map(|name| name.as_str()).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(|it| it.as_object()).filter(|it| !it.is_empty())
    else {
        return "It takes no arguments: use {}.".to_owned();
    };
    let fields = properties.iter().take(MAX_FIELDS).map(|(name, field)| {
        let kind = field.get("type").and_then(|kind| kind.as_str()).unwrap_or("any");
        let need = if required.contains(&name.as_str()) { ", required" } else { "" };
        format!("`{name}` ({kind}{need})")
    });
    format!("It takes: {}.", fields.collect::<Vec<_>>().join(", "))
}
