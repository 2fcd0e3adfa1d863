//! The task of a run, and the checks of its result, after which it is tried again.

use std::sync::Arc;

use goose::{
    agent_manager::{AgentManager, RecipeChecks, try_again},
    exchange::Exchange,
    recipe::Retry,
};
use goose_extension::{Message, MessageContent, Role};

use super::{super::conversation_setup::Assembled, recipe::AskAtTerminal};
use crate::{stderr, terminal::input::Input};

/// Message of a run, and the checks of its result.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) message: Message,
    pub(crate) retry: Option<Retry>,
}

/// Result of the checks.
#[derive(Debug)]
pub(crate) enum Checked {
    Passed,
    Failed,
    /// The message of another try.
    Again(Message),
}

/// Tries of a task that has checks.
pub(crate) struct Tries {
    message: Message,
    retry: Retry,
    left: u32,
    /// True if the conversation began with the task, so another try does not need what was said.
    is_alone: bool,
    manager: AgentManager,
    exchange: Exchange,
    input: Arc<Input>,
}

impl Tries {
    /// Returns the tries of a task that is not begun yet; `None` if it has no checks.
    pub(crate) fn new(assembled: &Assembled, task: &Task, input: &Arc<Input>) -> Option<Self> {
        let retry = task.retry.clone()?;
        Some(Self {
            message: task.message.clone(),
            left: retry.max_retries,
            retry,
            is_alone: assembled.exchange.messages().is_empty(),
            manager: assembled.manager().clone(),
            exchange: assembled.exchange.clone(),
            input: Arc::clone(input),
        })
    }

    /// Checks the result, and prepares another try if one is left.
    pub(crate) async fn check(&mut self) -> Checked {
        let checks = RecipeChecks {
            manager: &self.manager,
            exchange: &self.exchange,
            retry: &self.retry,
            working_dir: self.exchange.working_dir().to_owned(),
            approval: &AskAtTerminal(&self.input),
        };
        let failures = checks.failures().await;
        if failures.is_empty() {
            return Checked::Passed;
        }
        for failure in &failures {
            stderr::error(&format!("A check of the recipe failed: {failure}"));
        }
        if self.left == 0 {
            return Checked::Failed;
        }
        if let Some(problem) = checks.clean_up().await {
            stderr::error(&format!("The clean-up of the recipe failed: {problem}"));
        }
        if self.is_alone
            && let Err(failure) = self.exchange.clear().await
        {
            stderr::error(&failure.message);
            return Checked::Failed;
        }
        stderr::line(format_args!("Trying again; {} left.", self.left));
        self.left -= 1;
        let words = MessageContent::text(try_again(&self.message.own_text(), &failures));
        let attachments = self.message.content.iter().skip(1).cloned();
        Checked::Again(Message::new(Role::User, [words].into_iter().chain(attachments)))
    }
}
