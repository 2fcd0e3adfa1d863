//! [`ExchangeView`]: a tool's read-only window on the conversation so far.
//!
//! The loop writes through an [`ExchangeHistory`]; tools read through views of it. A view is live: it shows
//! what the history holds when it is asked, not when the view was made.

use std::sync::Arc;

use parking_lot::{RwLock, RwLockWriteGuard};

use crate::message::Message;

/// The read-only view that tools get.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExchangeView {
    /// The conversation of the working model.
    pub processor: ProcessorView,
}

/// The conversation with one model.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProcessorView {
    /// The messages so far.
    pub messages: Messages,
}

/// A live, read-only list of messages.
#[derive(Debug, Clone, Default)]
pub struct Messages(Arc<RwLock<Vec<Arc<Message>>>>);

impl Messages {
    /// The newest message.
    pub fn last(&self) -> Option<Arc<Message>> {
        self.0.read().last().cloned()
    }

    /// The message at `index`, oldest first.
    pub fn get(&self, index: usize) -> Option<Arc<Message>> {
        self.0.read().get(index).cloned()
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Returns whether the conversation has not begun.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All messages as they are now, oldest first.
    pub fn snapshot(&self) -> Vec<Arc<Message>> {
        self.0.read().clone()
    }
}

/// The writing end, held by the loop.
#[derive(Debug, Default)]
pub struct ExchangeHistory {
    view: ExchangeView,
}

impl ExchangeHistory {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// A view for tools; it follows the history.
    pub fn view(&self) -> ExchangeView {
        self.view.clone()
    }

    /// Appends a message.
    pub fn push(&self, message: impl Into<Arc<Message>>) {
        let message = message.into();
        self.write().push(message);
    }

    /// Replaces all messages, as compaction does.
    pub fn replace(&self, messages: impl IntoIterator<Item = Arc<Message>>) {
        let replacement = messages.into_iter().collect();
        *self.write() = replacement;
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Arc<Message>>> {
        self.view.processor.messages.0.write()
    }
}
