//! [`Handover`]: the message that a delegate begins with, made to fit into the context of its model.
//!
//! A message that fits is handed over as it is. Otherwise the long parts are summarized as compaction summarizes older messages, by the
//! model of the session that delegates: its context is the larger one. Where that fails, they are cut.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::Provider;

use super::{
    compaction::Reason,
    event::Event,
    handle::Exchange,
    reply::Reply,
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::context::{
    Moderator,
    moderate::{Summarizer, summarize},
    tokens,
};

/// The share of the context, as a divisor, below which a message is not worth shortening: then the tools fill the context.
const SHORT: u64 = 8;

/// The fewest tokens of a part, however small the context is.
const MIN_PART_TOKENS: u64 = 125;

/// The message that a delegate begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    heading: String,
    text: String,
    /// The most bytes, also where more would fit.
    max_bytes: usize,
}

impl Handover {
    /// A message with a task in plain words.
    pub(crate) fn new(task: impl Into<String>) -> Self {
        // The first words are never an `@agent`, which would choose another agent.
        Self::default().with("Your task:\n\n", task, usize::MAX)
    }

    /// Adds a text under a heading, of which at most so many bytes are handed over.
    pub(crate) fn with(
        mut self,
        heading: impl Into<String>,
        text: impl Into<String>,
        max_bytes: usize,
    ) -> Self {
        self.parts.push(Part { heading: heading.into(), text: text.into(), max_bytes });
        self
    }

    /// The message where everything fits.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(|part| part.with_text(&cut(&part.text, part.max_bytes))).collect()
    }

    /// The most tokens of each part, so that all of them together have about so many: what short parts leave goes to the others.
    fn share(&self, tokens: u64) -> u64 {
        let mut sizes: Vec<u64> = self.parts.iter().map(Part::tokens).collect();
        sizes.sort_unstable();
        let (mut left, mut count) = (tokens, sizes.len() as u64);
        for size in sizes {
            if size > left / count {
                return (left / count).max(MIN_PART_TOKENS);
            }
            left -= size;
            count -= 1;
        }
        u64::MAX
    }
}

impl Part {
    fn with_text(&self, text: &str) -> String {
        format!("{}{text}\n", self.heading)
    }

    fn tokens(&self) -> u64 {
        tokens::of_text(&cut(&self.text, self.max_bytes))
    }
}

impl Exchange {
    /// Replies to what another session hands over. Its model summarizes what does not fit.
    pub(crate) fn reply_to_handover(&self, handover: Handover, summarizer: Arc<dyn Provider>) -> Reply {
        Reply::begin_handover(&self.core, handover, summarizer)
    }
}

impl ReplyTask {
    /// The message of a handover, shortened if it does not fit into the context with the prompt, the tools and an answer.
    pub(super) async fn fitting(
        &mut self,
        handover: Handover,
        summarizer: Arc<dyn Provider>,
    ) -> StepResult<Message> {
        let message = Message::user(handover.text());
        let core = Arc::clone(&self.core);
        // The context of another maker's agent is not known.
        if core.agent().external.is_some() || tokens::of_message(&message) < core.limit() / SHORT {
            return Ok(message);
        }
        self.refresh_offer().await?;
        let meter = self.state.context_usage.meter();
        let (fixed, used) = (meter.would_use([]), meter.would_use([&message]));
        let budget = core.budget(Reason::Near, used);
        if budget.fits(used) {
            return Ok(message);
        }
        let share = handover.share(budget.goal().saturating_sub(fixed));
        let mut text = String::new();
        for part in &handover.parts {
            text += &match part.tokens() > share {
                true => self.shortened(part, share, &summarizer).await?,
                false => part.with_text(&cut(&part.text, part.max_bytes)),
            };
        }
        Ok(Message::user(text))
    }

    /// A part with about so many tokens: its summary, or its beginning.
    async fn shortened(&self, part: &Part, share: u64, model: &Arc<dyn Provider>) -> StepResult<String> {
        let core = &self.core;
        let book = |usage| core.usage.add(model.as_ref(), usage);
        let by = Summarizer { model: model.as_ref(), retry: &core.retry, book: &book };
        let summary = async {
            match core.moderator {
                Moderator::Summarize => {
                    summarize::text(&part.text, &by).await.map_err(|error| error.to_string())
                }
                other => Err(format!("the moderator is `{other}`")),
            }
        };
        let summary = self.cancellation.run_until_cancelled(summary).await.ok_or(Abort::Cancelled)?;
        let name = core.processor().model().name.clone();
        let (text, notice) = match &summary {
            Ok(summary) => (
                format!(
                    "(A summary of {} bytes, which do not fit into your context.)\n{}",
                    part.text.len(),
                    cut_to(summary, share)
                ),
                format!("What is handed over does not fit into the context of `{name}` and was summarized."),
            ),
            Err(reason) => (
                cut_to(&part.text, share),
                format!(
                    "What is handed over does not fit into the context of `{name}` and could not be summarized \
                     ({reason}); it was cut instead."
                ),
            ),
        };
        self.emit(Event::Notice(notice));
        Ok(part.with_text(&text))
    }
}

/// The beginning of a text, with about so many tokens.
fn cut_to(text: &str, tokens: u64) -> String {
    let bytes = (text.len() as u64).saturating_mul(tokens) / tokens::of_text(text).max(1);
    cut(text, usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The beginning of a text, and a remark about the rest.
pub(super) fn cut(text: &str, max_bytes: usize) -> String {
    goose_fs::truncate_lines(text.to_owned(), max_bytes, |rest| {
        format!("(Cut here; {} more bytes.)", rest.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_parts_leave_their_share_to_the_long_ones() {
        let part = |tokens: usize| "abcd".repeat(tokens);
        let handover = Handover::new(part(100)).with("", part(5_000), usize::MAX).with("", part(900), 2_000);
        assert_eq!(handover.share(10_000), u64::MAX, "everything fits");
        assert_eq!(handover.share(3_000), 3_000 - 100 - tokens::of_text(&cut(&part(900), 2_000)));
        assert_eq!(handover.share(0), MIN_PART_TOKENS);
        assert!(tokens::of_text(&cut_to(&part(5_000), 700)).abs_diff(700) < 20);
    }
}
