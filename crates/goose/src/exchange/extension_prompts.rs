//! Prompts of extensions that change while a session is open.
//!
//! The system prompt has them as they were when the tools were offered, and stays as it is, because services cache the
//! beginning of a conversation. Later changes go to the model with the user's next message.

use goose_extension::MessageContent;
use goose_providers::PromptStyle;

use super::agent_loop::AgentLoop;
use crate::session::synthetic;

impl AgentLoop {
    /// The prompts that changed since the model was last told.
    pub(crate) async fn changed_prompts(&mut self) -> Option<MessageContent> {
        let is_first = self.state.offer.made_from.is_none();
        if is_first || self.context.processor().model().prompt_style == PromptStyle::Brief {
            return None;
        }
        let prompts = self.context.agent().extensions.prompts().await;
        let told = &mut self.state.offer.prompts;
        // Extensions that came or went change the tools, and with them the system prompt.
        let changed = prompts.iter().filter_map(|(name, now)| {
            let (_, before) = told.iter().find(|(told, before)| told == name && before != now)?;
            Some(format!("The extension `{name}` says now:\n{}", changed_lines(before, now)))
        });
        let changed: Vec<String> = changed.collect();
        if changed.is_empty() {
            return None;
        }
        *told = prompts;
        Some(synthetic(changed.join("\n\n")))
    }
}

/// The new lines of a text; all of it where lines were only removed.
fn changed_lines(before: &str, now: &str) -> String {
    let new: Vec<&str> = now.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
    if new.is_empty() { now.to_owned() } else { new.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_lines_are_told() {
        assert_eq!(changed_lines("How to.\nNone.", "How to.\nTea."), "Tea.");
        assert_eq!(changed_lines("How to.\nTea.", "How to."), "How to.");
    }
}
