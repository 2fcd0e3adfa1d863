//! Calls that the server has taken, and whose answer may still get lost on its way.
//!
//! rmcp reports a lost answer as the end of the connection, after which a model would try again. A call that may have
//! been carried out says so instead.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    model::{ClientJsonRpcMessage, ClientNotification, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::StreamableHttpPostResponse,
};

use super::{again::Effect, failure::HttpError};

/// How rmcp marks the error that it answers a request with when the stream of its answer has ended.
const LOST_MARK: &str = "io.modelcontextprotocol/transportClosed";

/// What rmcp says to requests of a session that is over.
const SESSION_OVER: &str = "streamable HTTP session was re-initialized";

/// The calls of one transport whose answer is to come as a stream.
#[derive(Clone, Default)]
pub(super) struct Unanswered(Arc<Mutex<HashSet<RequestId>>>);

impl Unanswered {
    fn lock(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a call whose answer is yet to come.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage, answer: &StreamableHttpPostResponse) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        let is_answered = matches!(answer, StreamableHttpPostResponse::Json(..));
        if !is_answered && Effect::of(message) == Effect::Possible {
            self.lock().insert(request.id.clone());
        }
    }

    /// Forgets a call that nobody waits for any more.
    pub(super) fn note_cancelled(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.lock().remove(id);
        }
    }

    /// What the server said; the loss of a call's answer in our words.
    pub(super) fn heard(&self, mut message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let id = match &message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let was_open = id.is_some_and(|id| self.lock().remove(id));
        if let ServerJsonRpcMessage::Error(error) = &mut message
            && was_open
            && is_lost(&error.error)
        {
            let lost = HttpError::Unsure("its answer broke off".to_owned());
            error.error = ErrorData::internal_error(format!("The server could not be heard: {lost}."), None);
        }
        message
    }
}

fn is_lost(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| data.get(LOST_MARK).is_some())
        || error.message.starts_with(SESSION_OVER)
}
