//! `plan`: the plan that the model keeps for a session.
//!
//! The whole plan comes with each call, so what a conversation needs of it is the last call; what is kept here says
//! whether it changed, and so whether the person is shown it again.

use std::collections::VecDeque;

use goose_extension::{checklist_progress, prelude::*};
use parking_lot::Mutex;

use super::Developer;

/// Maximum length of a plan.
const MAX_PLAN_BYTES: usize = 32 * 1024;

/// Maximum number of sessions whose plans are kept.
const MAX_PLANS: usize = 64;

/// The plans of the last sessions that changed theirs, oldest first.
#[derive(Debug, Default)]
pub(super) struct Plans(Mutex<VecDeque<(String, String)>>);

impl Plans {
    /// Keeps a session's plan; says whether it is another one than before.
    fn keep(&self, session: &str, plan: &str) -> bool {
        let mut plans = self.0.lock();
        if plans.iter().any(|(owner, known)| owner == session && known == plan) {
            return false;
        }
        plans.retain(|(owner, _)| owner != session);
        plans.push_back((session.to_owned(), plan.to_owned()));
        if plans.len() > MAX_PLANS {
            plans.pop_front();
        }
        true
    }
}

impl Developer {
    /// Keep your plan for work of several steps: write it first, update it as you go. The person sees it. Returns how
    /// many are done. Fails if it is empty or longer than 32 KiB.
    #[tool(group = "read", read_only, open_world = false)]
    pub(super) async fn plan(
        &self,
        /// The whole plan as a Markdown checklist: `- [x] done`, `- [ ] open`
        plan: &str,
        context: &CallContext,
    ) -> ToolResult<String> {
        let plan = plan.trim();
        if plan.is_empty() {
            return Err("The plan is empty. Send the whole plan as a Markdown checklist.".into());
        }
        if plan.len() > MAX_PLAN_BYTES {
            return Err(ToolError::ExecutionError(format!(
                "The plan has {} bytes; at most {MAX_PLAN_BYTES} are kept. Write it shorter: one line for each step.",
                plan.len()
            )));
        }
        if !self.plans.keep(context.session_id().unwrap_or_default(), plan) {
            return Ok("The plan is unchanged.".to_owned());
        }
        context.log(RichRenderable::Markdown { text: plan.to_owned() });
        Ok(summary(plan))
    }
}

/// Returns the progress of the plan.
fn summary(plan: &str) -> String {
    match checklist_progress(plan) {
        (_, 0) => "The plan is kept.".to_owned(),
        (done, all) => format!("The plan is kept: {done} of {all} steps done."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_in_every_form_of_list() {
        let plan = "# Plan\n- [x] a\n  * [X] b\n+ [ ] c\n12. [ ] d\n- e\n";
        assert_eq!(summary(plan), "The plan is kept: 2 of 4 steps done.");
        assert_eq!(summary("just do it"), "The plan is kept.");
    }

    #[test]
    fn only_the_last_sessions_are_kept_and_apart() {
        let plans = Plans::default();
        assert!(plans.keep("a", "one") && plans.keep("b", "one"));
        assert!(!plans.keep("a", "one"));
        assert!(plans.keep("a", "two"));
        for number in 0..MAX_PLANS {
            assert!(plans.keep(&number.to_string(), "x"));
        }
        assert!(plans.keep("a", "two"), "forgotten");
        assert_eq!(plans.0.lock().len(), MAX_PLANS);
    }
}
