//! Steps as rows of a table, and the counters of their session.

use goose_extension::Role;
use goose_providers::Usage;
use jiff::Timestamp;

use super::{StoreError, dialect::Statement};
use crate::{SessionId, Step};

/// Maximum size of a step.
const MAX_STEP_BYTES: usize = 64 * 1024 * 1024;

/// Maximum length of a title, which is the beginning of the first message.
const MAX_TITLE_CHARS: usize = 60;

/// Step to be inserted.
#[derive(Debug)]
pub(crate) struct StepRow {
    pub(super) at: i64,
    kind: &'static str,
    body: String,
    delta: CounterDelta,
}

/// Amounts by which steps raise the counters of their session.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct CounterDelta {
    messages: i64,
    pub(super) usage: Usage,
    pub(super) dollars: f64,
    /// Title for a session without one.
    title: Option<String>,
    /// New agent, if it changed.
    agent: Option<String>,
}

impl StepRow {
    pub(crate) fn new(step: &Step, at: Timestamp) -> Result<Self, StoreError> {
        let body = serde_json::to_string(step)
            .map_err(|error| StoreError::Other(format!("a step cannot be written as JSON: {error}")))?;
        if body.len() > MAX_STEP_BYTES {
            return Err(StoreError::StepTooLarge { bytes: body.len(), limit: MAX_STEP_BYTES });
        }
        Ok(Self { at: at.as_millisecond(), kind: step.kind(), body, delta: CounterDelta::from_step(step) })
    }

    /// Sets the parameters of a statement that inserts it. Returns the statement and the amounts to add to
    /// the counters.
    pub(super) fn bind(self, statement: Statement, id: &SessionId, seq: u64) -> (Statement, CounterDelta) {
        let statement = statement.bind(id).bind(stored_count(seq)).bind(self.at);
        (statement.bind(self.kind).bind(self.body), self.delta)
    }
}

impl CounterDelta {
    pub(super) fn from_step(step: &Step) -> Self {
        match step {
            Step::Message { message } => Self {
                messages: 1,
                title: (message.role == Role::User).then(|| title(&message.own_text())).flatten(),
                ..Self::default()
            },
            Step::Cost { usage, dollars, .. } => {
                Self { usage: *usage, dollars: dollars.unwrap_or(0.0), ..Self::default() }
            }
            Step::ModeChanged { agent, .. } => Self { agent: agent.clone(), ..Self::default() },
            _ => Self::default(),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.usage += other.usage;
        self.dollars += other.dollars;
        if self.title.is_none() {
            self.title.clone_from(&other.title);
        }
        if other.agent.is_some() {
            self.agent.clone_from(&other.agent);
        }
    }

    /// Sets the last parameters of a statement that updates the counters.
    pub(super) fn bind(self, statement: Statement) -> Statement {
        statement
            .bind(self.messages)
            .bind(stored_count(self.usage.input))
            .bind(stored_count(self.usage.output))
            .bind(stored_count(self.usage.cached_input))
            .bind(stored_count(self.usage.cache_write))
            .bind(self.dollars)
            .bind(self.title)
            .bind(self.agent)
    }
}

/// Returns the first words of a text, on one line.
fn title(text: &str) -> Option<String> {
    let mut title = String::new();
    for word in text.split_whitespace() {
        let room = MAX_TITLE_CHARS.saturating_sub(title.chars().count() + 1);
        if title.is_empty() {
            title.extend(word.chars().take(MAX_TITLE_CHARS));
        } else if word.chars().count() <= room {
            title.push(' ');
            title.push_str(word);
        } else {
            title.push('…');
            break;
        }
    }
    (!title.is_empty()).then_some(title)
}

/// Converts a count for the database.
pub(super) fn stored_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a count from the database.
pub(super) fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// Converts a time from the database.
pub(super) fn moment(stored: i64) -> Timestamp {
    Timestamp::from_millisecond(stored).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use goose_extension::{Message, MessageContent};

    use super::*;
    use crate::{synthetic, synthetic_message};

    #[test]
    fn synthetic_text_is_not_used_as_a_title() {
        let title_of = |message: Message| CounterDelta::from_step(&Step::Message { message }).title;
        assert_eq!(title_of(synthetic_message("go on")), None);
        let beside = Message::new(Role::User, [synthetic("a summary"), MessageContent::text("fix the bug")]);
        assert_eq!(title_of(beside), Some("fix the bug".to_owned()));
        assert_eq!(title_of(Message::user("go on")), Some("go on".to_owned()));
    }

    #[test]
    fn title_consists_of_the_first_words() {
        let long = "word ".repeat(40);
        assert_eq!(title("  fix\n the  bug "), Some("fix the bug".to_owned()));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&long).unwrap_or_default().chars().count(), 60);
        assert_eq!(title(&"ä".repeat(500)).unwrap_or_default().chars().count(), 60);
    }
}
