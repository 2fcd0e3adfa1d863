//! [`Conversation`]: the messages that a model is shown, folded from a session's steps.
//!
//! A running reply and a resumed session use the same fold. Whatever the steps are, and wherever they end,
//! [`Conversation::messages`] is valid for every provider:
//!
//! - the first message is the user's, and the roles alternate;
//! - each tool call has exactly one result, in the message after it, and its id occurs once;
//! - no message is blank.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{
    ContentBlock, ExchangeHistory, ExchangeView, Message, MessageContent, Role, ToolOutput,
};

use crate::Step;

/// Result of a call that was interrupted.
const UNFINISHED: &str = "Not finished: the work was interrupted before this call had a result. \
                          It may have been carried out in part; look before you repeat it.";

/// Message of the user that is inserted where a provider requires one and the user sent none.
pub const GO_ON: &str = "Go on.";

/// Messages of a session.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: Vec<Arc<Message>>,
    /// Last message of the model, while its calls have no results.
    open: Option<OpenMessage>,
    /// Ids of all calls.
    ids: HashSet<String>,
    history: ExchangeHistory,
}

/// Message with calls that have no result yet.
#[derive(Debug)]
struct OpenMessage {
    message: Arc<Message>,
    calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    /// Id in the step.
    stored: String,
    /// Id in the message. It differs from `stored` if that was taken.
    id: String,
    output: Option<ToolOutput>,
}

impl Conversation {
    /// Folds steps into a conversation.
    pub fn from_steps(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut conversation = Self::default();
        steps.into_iter().for_each(|step| conversation.apply(step));
        conversation
    }

    /// Applies the next step.
    pub fn apply(&mut self, step: Step) {
        match step {
            Step::Message { message } => self.add_message(message),
            Step::ToolResult { id, output, .. } => self.add_result(&id, output),
            Step::Compacted { messages, .. } => self.replace(messages),
            Step::Interrupted { .. } | Step::ReplyEnded { .. } => self.close(),
            Step::Cost { .. }
            | Step::Log { .. }
            | Step::ModeChanged { .. }
            | Step::ExtensionSwitched { .. }
            | Step::NestedCall { .. }
            | Step::NestedResult { .. }
            | Step::TaskPlan { .. }
            | Step::TaskStarted { .. }
            | Step::TaskFinished(_) => {}
        }
    }

    /// Returns the messages to send to a provider, oldest first. The last message of the model is left out
    /// while its calls have no results, see [`open_calls`](Self::open_calls).
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the ids of the calls without a result, in order.
    pub fn open_calls(&self) -> impl Iterator<Item = &str> {
        let calls = self.open.iter().flat_map(|open| &open.calls);
        calls.filter(|call| call.output.is_none()).map(|call| call.id.as_str())
    }

    /// Returns the last message of the model, while its calls have no results.
    pub fn waiting(&self) -> Option<&Arc<Message>> {
        self.open.as_ref().map(|open| &open.message)
    }

    /// Returns the newest message, even if its calls have no results.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.waiting().or(self.messages.last())
    }

    /// Returns the view for tools. It follows the conversation.
    pub fn view(&self) -> ExchangeView {
        self.history.view()
    }

    /// Returns the message with call ids that no earlier call has. Call it before the message is stored, so
    /// that the log, events and the model use the same ids.
    pub fn with_own_ids(&self, mut message: Message) -> Message {
        let mut new = HashSet::new();
        for part in &mut message.content {
            if let MessageContent::ToolCall { id, .. } = part {
                *id = unique(id, |id| self.ids.contains(id) || new.contains(id));
                new.insert(id.clone());
            }
        }
        message
    }

    fn add_message(&mut self, message: Message) {
        match message.role {
            Role::Assistant => self.add_model_message(message),
            _ => self.add_user_message(message),
        }
    }

    fn add_user_message(&mut self, message: Message) {
        let mut content = Vec::with_capacity(message.content.len());
        for part in message.content {
            match part {
                MessageContent::ToolResult { id, output } => self.add_result(&id, output),
                MessageContent::Block(_) if !is_blank(&part) => content.push(part),
                _ => {}
            }
        }
        if !content.is_empty() {
            self.close();
            self.push_user(content);
        }
    }

    fn add_model_message(&mut self, mut message: Message) {
        self.close();
        message.content.retain(|part| !matches!(part, MessageContent::ToolResult { .. }) && !is_blank(part));
        if message.content.iter().all(|part| matches!(part, MessageContent::Reasoning(_))) {
            return;
        }
        if self.messages.last().is_none_or(|last| last.role == Role::Assistant) {
            self.push_user(vec![synthetic(GO_ON)]);
        }
        let stored: Vec<String> = message.call_ids().map(str::to_owned).collect();
        let message = Arc::new(self.with_own_ids(message));
        self.history.push(Arc::clone(&message));
        if stored.is_empty() {
            self.messages.push(message);
            return;
        }
        let ids: Vec<String> = message.call_ids().map(str::to_owned).collect();
        self.ids.extend(ids.iter().cloned());
        let calls = stored.into_iter().zip(ids);
        let calls = calls.map(|(stored, id)| OpenCall { stored, id, output: None }).collect();
        self.open = Some(OpenMessage { message, calls });
    }

    /// Records the result of a call. A result without a call, or a second one, is ignored.
    fn add_result(&mut self, id: &str, output: ToolOutput) {
        let Some(open) = &mut self.open else { return };
        let mut waiting = open.calls.iter_mut().filter(|call| call.output.is_none());
        if let Some(call) = waiting.find(|call| call.id == id || call.stored == id) {
            call.output = Some(output);
        }
        if open.calls.iter().all(|call| call.output.is_some()) {
            self.close();
        }
    }

    /// Adds a result to every call without one, and completes the message.
    fn close(&mut self) {
        let Some(OpenMessage { message, calls }) = self.open.take() else { return };
        let results = calls.into_iter().map(|call| {
            let output = call.output.unwrap_or_else(|| ToolOutput::error(UNFINISHED));
            MessageContent::tool_result(call.id, output)
        });
        let results = Arc::new(Message::new(Role::User, results));
        self.history.push(Arc::clone(&results));
        self.messages.push(message);
        self.messages.push(results);
    }

    /// Adds content of the user: to the last message if that is the user's, too, because roles must
    /// alternate.
    fn push_user(&mut self, content: Vec<MessageContent>) {
        match self.messages.last_mut().filter(|last| last.role != Role::Assistant) {
            Some(last) => {
                Arc::make_mut(last).content.extend(content);
                self.history.replace(self.messages.iter().cloned());
            }
            None => {
                let message = Arc::new(Message::new(Role::User, content));
                self.history.push(Arc::clone(&message));
                self.messages.push(message);
            }
        }
    }

    fn replace(&mut self, messages: Vec<Message>) {
        self.open = None;
        self.messages.clear();
        let used = std::mem::take(&mut self.ids);
        self.history.replace([]);
        messages.into_iter().for_each(|message| self.add_message(message));
        self.close();
        // The log still has the earlier calls: a new call must not get the id of one of them.
        self.ids.extend(used);
    }
}

/// Returns a text for the model that goose itself adds to the user's messages. MCP's audience annotation
/// distinguishes it from what the user wrote.
pub fn synthetic(text: impl Into<String>) -> MessageContent {
    let mut block = ContentBlock::text(text);
    if let ContentBlock::Text(text) = &mut block {
        text.annotations.get_or_insert_default().audience = Some(vec![Role::Assistant]);
    }
    MessageContent::Block(block)
}

/// Returns a [`synthetic`] text with the names that it lists in its metadata, under `key`.
pub fn synthetic_list(text: impl Into<String>, key: &str, names: &[String]) -> MessageContent {
    let mut content = synthetic(text);
    if let MessageContent::Block(ContentBlock::Text(text)) = &mut content {
        text.meta.get_or_insert_default().insert(key.to_owned(), names.into());
    }
    content
}

/// Returns a message with a [`synthetic`] text.
pub fn synthetic_message(text: impl Into<String>) -> Message {
    Message::new(Role::User, [synthetic(text)])
}

/// Returns the id, or the first id derived from it that is not taken.
fn unique(id: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut candidate = id.to_owned();
    let mut number = 1_u64;
    while candidate.is_empty() || is_taken(&candidate) {
        number += 1;
        candidate = if id.is_empty() { format!("call_{number}") } else { format!("{id}_{number}") };
    }
    candidate
}

/// Returns true for a text of white space, which some providers refuse.
fn is_blank(part: &MessageContent) -> bool {
    part.as_text().is_some_and(|text| text.trim().is_empty())
}

/// Returns true if a message has only blank texts. Providers refuse such a message.
pub fn says_nothing(message: &Message) -> bool {
    message.content.iter().all(is_blank)
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
