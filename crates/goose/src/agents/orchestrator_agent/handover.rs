//! The message of a [`Handover`], shortened to fit into the context of the model that reads it.
//!
//! A message that fits is not changed. Otherwise the long parts are summarized like older messages in a
//! compaction, by the model of the delegating session, whose context is larger. If that fails, they are cut.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::Provider;

use super::RequestHandler;
use goose_config::Moderator;

use crate::{
    context::{
        Handover,
        handover::{Part, cut_to},
        moderate::{Summarizer, summarize},
        tokens,
    },
    exchange::{Abort, Event, Reason, StepResult},
};

/// Divisor of the context limit that gives the size below which a message is not shortened. With such a
/// message, the tools fill the context.
const SHORT: u64 = 8;

impl RequestHandler<'_> {
    /// Returns the message of a handover, shortened if it does not fit into the context with the prompt, the
    /// tools and an answer.
    pub(super) async fn fitting(
        &mut self,
        handover: Handover,
        summarizer: Arc<dyn Provider>,
    ) -> StepResult<Message> {
        let message = Message::user(handover.text());
        let core = Arc::clone(&self.work.context);
        // The context of an external agent is not known.
        if core.agent().external.is_some() || tokens::of_message(&message) < core.limit() / SHORT {
            return Ok(message);
        }
        self.work.refresh_offer().await?;
        let meter = self.work.state.context_usage.meter();
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
                false => part.whole(),
            };
        }
        Ok(Message::user(text))
    }

    /// Shortens a part to a number of tokens: a summary, or the beginning of the part.
    async fn shortened(&self, part: &Part, share: u64, model: &Arc<dyn Provider>) -> StepResult<String> {
        let core = &self.work.context;
        let book = |usage| core.usage.add(model.as_ref(), usage);
        let by = Summarizer { model: model.as_ref(), retry: &core.limits.retry, book: &book };
        let summary = async {
            match core.limits.moderator {
                Moderator::Summarize => {
                    summarize::text(&part.text, &by).await.map_err(|error| error.to_string())
                }
                other => Err(format!("the moderator is `{other}`")),
            }
        };
        let summary = self.work.cancellation.run_until_cancelled(summary).await.ok_or(Abort::Cancelled)?;
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
        self.work.emit(Event::Notice(notice));
        Ok(part.with_text(&text))
    }
}
