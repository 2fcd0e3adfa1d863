//! Prompts of extensions that change while a session is open.
//!
//! The system prompt contains the prompts of the time when the tools were offered, and does not change,
//! because services cache the beginning of a conversation. Later changes are sent to the model with the
//! user's next message.

use goose_extension::MessageContent;
use goose_providers::PromptStyle;

use super::agent_loop::AgentLoop;
use crate::session::synthetic;

impl AgentLoop {
    /// Returns the prompts that changed since they were last sent to the model.
    pub(crate) async fn changed_prompts(&mut self) -> Option<MessageContent> {
        let is_first = self.state.offer.made_from.is_none();
        if is_first || self.context.processor().model().prompt_style == PromptStyle::Brief {
            return None;
        }
        let prompts = self.context.agent().extensions.prompts().await;
        let sent = &mut self.state.offer.prompts;
        // Added or removed extensions change the tools, and with them the system prompt.
        let changed = prompts.iter().filter_map(|(name, now)| {
            let (_, before) = sent.iter().find(|(sent, before)| sent == name && before != now)?;
            Some(format!("The extension `{name}` says now:\n{}", changed_lines(before, now)))
        });
        let changed: Vec<String> = changed.collect();
        if changed.is_empty() {
            return None;
        }
        *sent = prompts;
        Some(synthetic(changed.join("\n\n")))
    }
}

/// Returns the new lines of a text, or the whole text if lines were only removed.
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
