//! [`ContextReport`]: the content of the model's context, for people.

use super::{event::Failure, handle::Exchange};
use crate::context::tokens;

/// Content of the next request to the model. Token counts are estimates, except for `used` once the service
/// has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextReport {
    /// Tokens of all parts.
    pub used: u64,
    /// Maximum number of tokens of the context; 0 if it is not known.
    pub limit: u64,
    /// System prompt without the hint files.
    pub system: u64,
    /// Hint files in the system prompt, by path.
    pub hints: Vec<ContextShare>,
    /// Tools by extension.
    pub tools: Vec<ContextShare>,
    /// Messages, with tool calls and their results.
    pub messages: ContextShare,
}

/// Share of one part of the context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextShare {
    /// Name of the part; empty if there is only one.
    pub name: String,
    /// Number of tools or messages, or 1.
    pub count: usize,
    /// Tokens of the part.
    pub tokens: u64,
}

impl Exchange {
    /// Returns the content of the next request to the model. Waits for a running reply, and for extensions
    /// that are starting.
    ///
    /// # Errors
    ///
    /// Fails if the store or the model fails.
    pub async fn context_report(&self) -> Result<ContextReport, Failure> {
        self.context.models.open().await?;
        let mut work = self.command().await?;
        // The same functions as in the last request, so that its offer stays as it is.
        work.functions = work.state.offer.functions.clone();
        work.refresh_offer().await?;
        work.count_messages();
        let offer = &work.state.offer;
        let hints = self.context.folder.hints.iter().map(|hint| ContextShare {
            name: hint.shown_path.clone(),
            count: 1,
            tokens: tokens::of_text(&hint.text),
        });
        let hints: Vec<ContextShare> = hints.collect();
        let system = tokens::of_text(&offer.system);
        let mut tools: Vec<ContextShare> = Vec::new();
        for tool in &offer.tools {
            let name = tool.name().split_once("__").map_or("goose", |(extension, _)| extension);
            let tokens = tokens::of_tools(std::slice::from_ref(tool));
            match tools.iter_mut().find(|share| share.name == name) {
                Some(share) => (share.count, share.tokens) = (share.count + 1, share.tokens + tokens),
                None => tools.push(ContextShare { name: name.to_owned(), count: 1, tokens }),
            }
        }
        let messages = work.state.conversation.messages();
        Ok(ContextReport {
            used: work.state.context_usage.used(),
            limit: self.context.limit(),
            system: system.saturating_sub(hints.iter().map(|hint| hint.tokens).sum()),
            hints,
            tools,
            messages: ContextShare {
                name: String::new(),
                count: messages.len(),
                tokens: messages.iter().map(|message| tokens::of_message(message)).sum(),
            },
        })
    }
}
