//! Hooks before and after a call. They can block it, have the user asked about it, and add text to its result.

use futures::FutureExt as _;
use goose_extension::{ContentBlock, JsonObject, ToolOutput, ToolResult};

use super::{ApprovalQuestion, Call, CallId, CallPath, JudgedCall, Refusal};
use crate::{
    exchange::event::Event,
    hooks::{HookEvent, Hooks, JoinedEffect, ToolFacts},
};

impl CallPath {
    /// Returns the hooks, if the event has some.
    fn hooks_of(&self, event: HookEvent) -> Option<&Hooks> {
        self.guard.hooks.as_deref().filter(|hooks| hooks.has(event))
    }

    /// Runs the hooks before a call that the permissions do not deny. They only make the decision stricter.
    pub(super) async fn with_hooks_before(&self, judged: JudgedCall) -> Result<JudgedCall, Refusal> {
        let JudgedCall { call, question } = judged;
        let JoinedEffect { ask, context, .. } =
            self.hooks_before(&call.id, call.name(), call.arguments.as_object()).await?;
        let shown = || self.guard.permissions.shown(&call.to_judge(&self.working_dir));
        let question = ApprovalQuestion::with_reason(question, ask, shown);
        let note = call.note.into_iter().chain(context).reduce(|note, more| format!("{note}\n\n{more}"));
        Ok(JudgedCall { call: Call { note, ..call }, question })
    }

    /// Runs the hooks before an action.
    ///
    /// # Errors
    ///
    /// Fails if a hook blocks it.
    pub(in crate::exchange) async fn hooks_before(
        &self,
        id: &CallId,
        name: &str,
        arguments: &JsonObject,
    ) -> Result<JoinedEffect, Refusal> {
        let Some(hooks) = self.hooks_of(HookEvent::PreToolUse) else { return Ok(JoinedEffect::default()) };
        let facts = ToolFacts { id: &id.id, name, arguments };
        // Boxed: calls nest, and few have hooks.
        let effect = self.cancellation.run_until_cancelled(hooks.before_tool(facts).boxed()).await;
        let mut effect = effect.ok_or_else(|| Refusal::cancelled(name))?;
        self.report(&mut effect);
        match effect.block.take() {
            Some(reason) => Err(Refusal::denied(reason)),
            None => Ok(effect),
        }
    }

    /// Runs the hooks after a call that succeeded.
    pub(super) async fn with_hooks_after(
        &self,
        call: &Call,
        result: ToolResult<ToolOutput>,
    ) -> ToolResult<ToolOutput> {
        let mut output = result?;
        let Some(hooks) = self.hooks_of(HookEvent::PostToolUse).filter(|_| !output.is_error) else {
            return Ok(output);
        };
        let facts = ToolFacts { id: &call.id.id, name: call.name(), arguments: call.arguments.as_object() };
        let effect = self.cancellation.run_until_cancelled(hooks.after_tool(facts, &output).boxed()).await;
        if let Some(mut effect) = effect {
            self.report(&mut effect);
            let texts = effect.block.into_iter().chain(effect.context);
            output.content.extend(texts.map(ContentBlock::text));
        }
        Ok(output)
    }

    fn report(&self, effect: &mut JoinedEffect) {
        for notice in effect.notices.drain(..) {
            self.events.emit(Event::Notice(notice));
        }
    }
}
