//! Preparation of each request to the model: changed extensions, offered tools, the system prompt, and the
//! size of the conversation.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures::FutureExt as _;
use goose_extension::{MessageContent, Tool, ToolAction};
use goose_providers::PromptStyle;
use tokio::time::{Instant, sleep_until};

use super::{
    agent_loop::{Abort, AgentLoop, LoopFunction, StepResult},
    event::Event,
    final_output::FINAL_OUTPUT,
    loop_context::{LoopContext, LoopState, Offer},
};
use crate::{
    agents::agent::Agent,
    context::{
        current_plan, listing,
        prompt::{self, PromptParts},
        tokens,
    },
    permission::{Origin, Permissions},
    services::{Phase, ServiceChange, ServiceEvent},
    session::{Conversation, Step, synthetic, synthetic_list, synthetic_message},
};

/// Time that a request waits for extensions that are starting, while the user watches. Their tools come with a
/// later request.
const START_WAIT: Duration = Duration::from_secs(5);

/// Line before the task list in a request.
const TASK_LIST_HEADING: &str = "Your task list as it stands:\n";

impl AgentLoop {
    /// Prepares the next request to the model.
    pub(super) async fn prepare(&mut self) -> StepResult<()> {
        let results = self.context.tasks.results.take();
        if !results.is_empty() {
            self.record(Step::Message { message: synthetic_message(results.join("\n\n")) }).await?;
        }
        self.refresh_offer().await?;
        self.report_notices();
        self.keep_within_budget().await?;
        self.progress.turn += 1;
        self.emit(Event::Asking { turn: self.progress.turn });
        match self.cancellation.is_cancelled() {
            true => Err(Abort::Cancelled),
            false => Ok(()),
        }
    }

    /// Waits for the next result of background tasks. Returns false if there will be none.
    pub(super) async fn wait_for_background(&mut self) -> StepResult<bool> {
        let results = Arc::clone(&self.context.tasks.results);
        match results.at_work() {
            0 => {}
            1 => self.emit(Event::Notice("Waiting for 1 background task.".to_owned())),
            count => self.emit(Event::Notice(format!("Waiting for {count} background tasks."))),
        }
        self.cancellation.run_until_cancelled(results.wait()).await.ok_or(Abort::Cancelled)
    }

    /// Updates the offered tools and the system prompt. Waits for extensions that are starting before the
    /// first request of a reply, and after the agent or its extensions changed.
    pub(crate) async fn refresh_offer(&mut self) -> StepResult<()> {
        if !self.has_tools {
            self.offer(Arc::from([]), Vec::new());
            return Ok(());
        }
        let agent = self.context.agent();
        let is_other = !Arc::ptr_eq(&agent, &self.state.offered_by);
        let switched = self.context.agents.version();
        let is_updated = self.state.switched != switched || (is_other && switched > 0);
        if is_updated {
            self.state.switched = switched;
            self.state
                .notices
                .extend(self.context.agents.update(&agent).await.err().map(|error| error.to_string()));
        }
        if is_other {
            self.state.offer = Offer::default();
            self.state.services = agent.extensions.events();
            self.state.offered_by = Arc::clone(&agent);
            self.state.notices.extend(agent.notices());
        }
        if self.progress.turn == 0 || is_other || is_updated {
            self.wait_for_extensions(&agent).await?;
        }
        let tools = agent.toolset.tools();
        let Offer { made_from, functions, .. } = &self.state.offer;
        let is_same = made_from.as_ref().is_some_and(|made_from| Arc::ptr_eq(made_from, &tools));
        let names = functions.iter().map(|function| function.tool.name());
        if !is_same || names.ne(self.functions.iter().map(|function| function.tool.name())) {
            let prompts = agent.extensions.prompts().await;
            self.offer(tools, prompts);
        }
        Ok(())
    }

    /// Waits for extensions whose tools are not known yet, shows their names, and reports failures at once. If
    /// the user watches, an extension that takes longer than [`START_WAIT`] is left for a later request.
    pub(super) async fn wait_for_extensions(&mut self, agent: &Agent) -> StepResult<()> {
        let mut listed = pin!(agent.toolset.list());
        if listed.as_mut().now_or_never().is_some() {
            return Ok(());
        }
        let has_deadline = self.events.is_attended();
        let deadline = Instant::now() + START_WAIT;
        loop {
            let starting = agent.extensions.starting();
            let is_late = |name: &String| self.state.late.contains(name);
            if has_deadline && !starting.is_empty() && starting.iter().all(is_late) {
                break;
            }
            self.emit(Event::Status { call: None, message: format!("starting {}", starting.join(", ")) });
            tokio::select! {
                _ = &mut listed => break,
                () = self.cancellation.cancelled() => return Err(Abort::Cancelled),
                () = sleep_until(deadline), if has_deadline => {
                    self.state.notices.extend(starting.iter().map(|name| still_starting(name)));
                    self.state.late.extend(starting);
                }
                Some(event) = self.state.services.recv() => {
                    let failure = self.state.failures.of(event);
                    self.state.notices.extend(failure);
                }
            }
            self.report_notices();
        }
        self.emit(Event::Status { call: None, message: String::new() });
        Ok(())
    }

    fn offer(&mut self, tools: Arc<[Tool]>, prompts: Vec<(String, String)>) {
        let core = Arc::clone(&self.context);
        let functions: Vec<LoopFunction> =
            self.functions.iter().filter(|_| self.has_tools).cloned().collect();
        let of_loop = usize::from(core.final_output.is_some()) + functions.len();
        let room = core.processor().max_tools().map(|most| most.saturating_sub(of_loop));
        // A small model would delegate work that it should do itself.
        let may_delegate = core.processor().model().prompt_style == PromptStyle::Full;
        let has_place = |tool: &&Tool| may_delegate || tool.action() != Some(&ToolAction::Delegates);
        let fitting: Vec<Tool> = tools.iter().filter(has_place).cloned().collect();
        let (mut offered, left_out) = within(room, fitting, |tool| self.is_own(tool));
        let state = &mut *self.state;
        state.notices.extend(left_out);
        state.notices.extend(core.guard.permissions.unmatched_rules_warning(tools.iter().map(Tool::name)));
        offered.extend(core.final_output.as_ref().map(|output| output.tool().clone()));
        offered.extend(functions.iter().map(|function| function.tool.clone()));
        let system = core.system_prompt(&offered, &prompts);
        state.context_usage.set_fixed(tokens::of_text(&system) + core.tool_tokens(&offered));
        state.offer =
            Offer { made_from: Some(tools), functions, tools: offered, system, prompts, is_ready: false };
    }

    fn is_own(&self, tool: &Tool) -> bool {
        let handle = self.context.agent().toolset.resolve(tool.name());
        handle.is_ok_and(|handle| handle.origin == Origin::Own)
    }

    /// Takes the first tool, unless it was taken to be prepared for its first call before.
    pub(super) fn take_unready(&mut self) -> Option<Tool> {
        let offer = &mut self.state.offer;
        let was_ready = std::mem::replace(&mut offer.is_ready, true);
        offer.tools.first().filter(|_| !was_ready).cloned()
    }

    /// Reports pending notices and failures of extensions.
    pub(crate) fn report_notices(&mut self) {
        let mut found = self.state.take_notices();
        found.extend(self.context.guard.permissions.problem());
        for notice in found {
            self.emit(Event::Notice(notice));
        }
    }
}

impl LoopState {
    /// Takes the notices that were not reported yet. A failed extension is reported once, and again only
    /// after it has worked.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        let mut found = std::mem::take(&mut self.notices);
        while let Some(Some(event)) = self.services.recv().now_or_never() {
            found.extend(self.failures.of(event));
        }
        // An extension may have failed before its events were followed.
        for (name, phase, reason) in self.offered_by.extensions.failed() {
            found.extend(self.failures.notice(name, phase, reason));
        }
        found
    }
}

/// Extensions that do not work, as far as the user knows.
#[derive(Debug, Default)]
pub(super) struct ReportedFailures(BTreeSet<String>);

impl ReportedFailures {
    /// Returns the notice about an event, if it is the failure of an extension.
    fn of(&mut self, event: ServiceEvent) -> Option<String> {
        let ServiceChange::Phase(phase, reason) = event.change else { return None };
        self.notice(event.name, phase, reason)
    }

    /// Returns the notice about an extension that failed, unless the user knows about it.
    fn notice(&mut self, name: String, phase: Phase, reason: Option<String>) -> Option<String> {
        let words = match phase {
            Phase::Degraded => "failed; goose will retry on next use",
            Phase::Dead => "is not available",
            Phase::Ready => {
                self.0.remove(&name);
                return None;
            }
            _ => return None,
        };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let notice = format!("The extension `{name}` {words}{reason}");
        self.0.insert(name).then_some(notice)
    }
}

impl LoopContext {
    /// Returns text that is added to a request: the task list, or for a model with a brief prompt the names
    /// of the files. It is stored with the message, so that a resumed conversation is the same and services
    /// can cache it.
    pub(crate) fn surroundings(&self, conversation: &Conversation) -> Option<MessageContent> {
        match self.processor().model().prompt_style {
            PromptStyle::Brief => listing::brief(&self.folder.working_dir)
                .map(|listing| synthetic_list(listing.text, "files", &listing.names)),
            PromptStyle::Full if self.agent().has_task_list() => current_plan(conversation.messages())
                .map(|list| synthetic(format!("{TASK_LIST_HEADING}{list}"))),
            PromptStyle::Full => None,
        }
    }

    /// Returns the approximate number of tokens that tools take in a request.
    pub(super) fn tool_tokens(&self, tools: &[Tool]) -> u64 {
        tokens::of_tools(tools).min(self.processor().model().max_tool_tokens.unwrap_or(u64::MAX))
    }

    /// Returns the system prompt.
    fn system_prompt(&self, tools: &[Tool], prompts: &[(String, String)]) -> String {
        let agent = self.agent();
        let mut instructions = agent.instructions.clone();
        if self.final_output.is_some() {
            instructions.push(format!("Give the final answer by calling `{FINAL_OUTPUT}`, not as text."));
        }
        let instructions = instructions.join("\n\n");
        let is_used = |name: &str| tools.iter().any(|tool| tool.name().starts_with(&format!("{name}__")));
        let extensions: Vec<_> = prompts.iter().filter(|(name, _)| is_used(name)).cloned().collect();
        let parts = PromptParts {
            working_dir: &self.folder.working_dir,
            today: &self.conversation.today,
            hints: &self.folder.hints,
            instructions: Some(instructions.as_str()).filter(|text| !text.is_empty()),
            extensions: &extensions,
            tools,
            has_ripgrep: self.folder.has_ripgrep,
        };
        match self.processor().model().prompt_style {
            PromptStyle::Brief => prompt::brief(&parts),
            PromptStyle::Full => prompt::system(&parts),
        }
    }
}

/// Returns the tools that fit the service's limit, goose's own with priority, and a notice about the others.
/// The order is kept, because services cache the beginning of a conversation.
fn within(
    limit: Option<usize>,
    tools: Vec<Tool>,
    is_own: impl Fn(&Tool) -> bool,
) -> (Vec<Tool>, Option<String>) {
    let Some(limit) = limit.filter(|limit| *limit < tools.len()) else { return (tools, None) };
    let own: Vec<bool> = tools.iter().map(is_own).collect();
    let mut room_for_others = limit.saturating_sub(own.iter().filter(|own| **own).count());
    let mut left_out = BTreeMap::<&str, usize>::new();
    let mut offered = Vec::with_capacity(limit);
    for (tool, own) in tools.iter().zip(own) {
        let fits = offered.len() < limit && (own || room_for_others > 0);
        if fits {
            room_for_others -= usize::from(!own);
            offered.push(tool.clone());
        } else {
            let extension = tool.name().split_once("__").map_or("", |(extension, _)| extension);
            *left_out.entry(extension).or_default() += 1;
        }
    }
    let left_out: Vec<String> = left_out.iter().map(|(name, count)| format!("{count} of `{name}`")).collect();
    let notice = format!(
        "The service takes at most {limit} tools, and there are {}. The model is not offered {}. Disable extensions that \
         are not needed, or list the tools to use under 'available_tools' of an extension.",
        tools.len(),
        left_out.join(", ")
    );
    (offered, Some(notice))
}

fn still_starting(name: &str) -> String {
    format!("The extension `{name}` is still starting. Its tools come with a later request.")
}

/// Prepares the first call of a tool in the background, while the model works.
pub(super) fn get_ready(tool: Tool, permissions: &Arc<Permissions>) {
    let permissions = Arc::clone(permissions);
    tokio::task::spawn_blocking(move || {
        permissions.prepare();
        goose_process::prepare();
        // The first schema of a process takes milliseconds, the others little, and most tools are never
        // called.
        tool.prepare();
    });
}

#[cfg(test)]
mod tests {
    use goose_extension::JsonObject;

    use super::*;

    #[test]
    fn tools_beyond_the_limit_are_left_out_and_named() {
        let names = ["a__1", "a__2", "b__1", "own__1", "own__2"];
        let tools = names.map(|name| Tool::new(name, "", JsonObject::new()));
        let is_own = |tool: &Tool| tool.name().starts_with("own");
        let offered = |limit| {
            let (offered, notice) = within(limit, tools.to_vec(), is_own);
            (offered.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>().join(" "), notice)
        };
        for limit in [None, Some(5), Some(6)] {
            assert_eq!(offered(limit), (names.join(" "), None));
        }
        let (kept, notice) = offered(Some(3));
        assert_eq!(kept, "a__1 own__1 own__2");
        let notice = notice.unwrap();
        assert!(notice.contains("at most 3") && notice.contains("1 of `a`, 1 of `b`"), "{notice}");
        assert_eq!(offered(Some(1)).0, "own__1");
    }
}
