//! Runs of earlier processes, and runs that are no longer in memory, from the steps of their session.

use std::sync::Arc;

use goose::{
    exchange::replay,
    session::{SessionId, Step, StoredStep},
};
use goose_extension::{Message, MessageContent, Role};
use serde_json::Value;

use super::{RUN_META, Run};
use crate::ids::Uuid;

/// Reason in the log of a reply that was cancelled.
const CANCELLED: &str = "cancelled by the user";

/// Returns the ids of the runs in a session's log.
pub(crate) fn ids(steps: &[StoredStep]) -> impl Iterator<Item = Uuid> {
    steps.iter().filter_map(|stored| run_of(&stored.step))
}

impl Run {
    /// Returns the run of a message in a session's log.
    pub(crate) fn from_steps(
        session: &SessionId,
        id: Uuid,
        agent: &str,
        steps: &[StoredStep],
    ) -> Option<Self> {
        let begin = steps.iter().position(|stored| run_of(&stored.step) == Some(id))?;
        let run = Self::new(id, session.clone(), agent.to_owned(), steps[begin].at, None);
        let steps = &steps[begin + 1..];
        let is_end =
            |stored: &StoredStep| matches!(stored.step, Step::ReplyEnded { .. } | Step::Interrupted { .. });
        let end = steps.iter().position(is_end);
        let ended = end.map(|end| &steps[end].step);
        let is_cut = match ended {
            Some(Step::Interrupted { reason }) => reason != CANCELLED,
            ended => ended.is_none(),
        };
        for record in replay(session, &steps[..end.map_or(steps.len(), |end| end + 1)], 0) {
            let record = Arc::new(record);
            run.change(|log| log.take(&record));
        }
        run.change(|log| {
            if is_cut {
                log.set_interrupted();
            }
            log.end(Vec::new());
        });
        Some(run)
    }
}

/// Returns the run that a message of a client began.
fn run_of(step: &Step) -> Option<Uuid> {
    let Step::Message { message: Message { role: Role::User, content, .. } } = step else { return None };
    content.iter().find_map(|part| {
        let MessageContent::Block(goose_extension::ContentBlock::Text(text)) = part else { return None };
        text.meta.as_ref()?.0.get(RUN_META).and_then(Value::as_str)?.parse().ok()
    })
}
