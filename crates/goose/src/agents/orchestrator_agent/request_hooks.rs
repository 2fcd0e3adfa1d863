//! Hooks of a request: before its message goes to the model, and before the reply ends.

use std::sync::Arc;

use futures::FutureExt as _;
use goose_extension::Message;

use super::{CheckTarget, Context, RequestHandler};
use crate::{
    exchange::{Abort, Event, Outcome, Request, StepResult},
    hooks::{HookEvent, Hooks, JoinedEffect, MAX_CONTINUATIONS},
    session::synthetic_message,
};

/// Advice after a hook blocked a message.
const BLOCKED: &str = "`goose hooks list` shows the hooks.";

impl RequestHandler<'_> {
    /// Runs the hooks before a request, if there are any.
    ///
    /// # Errors
    ///
    /// Fails if a hook blocks the message.
    pub(super) async fn run_hooks_before(&mut self, request: &Request) -> StepResult<()> {
        let Some(hooks) = self.work.context.guard.hooks.clone() else { return Ok(()) };
        let cancellation = self.work.cancellation.clone();
        let before = cancellation.run_until_cancelled(self.before_request(&hooks, request).boxed());
        before.await.ok_or(Abort::Cancelled)?
    }

    /// Goes on with a request as long as a hook does not let it end, within a limit.
    pub(super) async fn continue_for_hooks(&mut self, mut outcome: Outcome) -> StepResult<Outcome> {
        let Some(hooks) = self.work.context.guard.hooks.clone() else { return Ok(outcome) };
        for count in 0..MAX_CONTINUATIONS {
            let Some(reason) = self.reason_to_continue(&hooks, &outcome, count > 0).await? else { break };
            self.begin(synthetic_message(reason), Context::new()).await?;
            outcome = self.answer(None).boxed().await?;
            outcome = self.check_result(outcome, CheckTarget::Reply).await?;
        }
        Ok(outcome)
    }

    /// Runs the hooks of the session's start and of the message.
    async fn before_request(&mut self, hooks: &Arc<Hooks>, request: &Request) -> StepResult<()> {
        if let Some(effect) = hooks.start().await {
            self.report_hooks(effect.notices);
        }
        let (Request::Message(message) | Request::Explore(message)) = request else { return Ok(()) };
        if !hooks.has(HookEvent::UserPromptSubmit) {
            return Ok(());
        }
        let JoinedEffect { block, notices, .. } = hooks.submit(&words(message)).await;
        self.report_hooks(notices);
        match block {
            Some(reason) => {
                Err(Abort::failed(format!("The message was not sent: {reason}"), BLOCKED.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Runs the hooks of the end of a reply. Returns the message that continues it, if one of them blocks the
    /// end.
    async fn reason_to_continue(
        &mut self,
        hooks: &Arc<Hooks>,
        outcome: &Outcome,
        is_continued: bool,
    ) -> StepResult<Option<String>> {
        if !matches!(outcome, Outcome::Done { .. }) || !hooks.has(HookEvent::Stop) {
            return Ok(None);
        }
        let cancellation = self.work.cancellation.clone();
        let effect = cancellation.run_until_cancelled(hooks.stop(is_continued)).await;
        let JoinedEffect { block, notices, stops, .. } = effect.ok_or(Abort::Cancelled)?;
        self.report_hooks(notices);
        Ok(block.filter(|_| !stops).map(|reason| format!("The task is not done yet. {reason}")))
    }

    fn report_hooks(&self, notices: Vec<String>) {
        notices.into_iter().for_each(|notice| self.work.emit(Event::Notice(notice)));
    }
}

/// Returns the texts of a message.
fn words(message: &Message) -> String {
    let texts: Vec<&str> = message.content.iter().filter_map(|part| part.as_text()).collect();
    texts.join("\n")
}
