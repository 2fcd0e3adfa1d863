//! Which call a message of the server belongs to.
//!
//! Progress, log messages and questions arrive between a request and its response. [`Tap`] sits in front of the
//! transport: it notes each call before its request is sent, and hands progress and log messages to that call
//! in the order in which they came, before the response can end it.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{
        Extensions, GetExtensions as _, GetMeta as _, JsonRpcMessage, LoggingMessageNotificationParam,
        NotificationMetaObject, ProgressNotificationParam, ProgressToken, RequestId, ServerNotification,
    },
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize as _;

use crate::{
    caller::{LogEntry, Progress},
    context::CallContext,
    mcp::{CALL_META, RECORD_LOGGER, STATUS_LOGGER},
    notifier::RichRenderable,
    questions::LogLevel,
};

/// Marks an outgoing request with the context of its call. It never reaches the wire.
#[derive(Clone)]
pub(super) struct Route(pub(super) CallContext);

/// The calls in flight.
#[derive(Default)]
pub(super) struct Routes {
    calls: Mutex<HashMap<RequestId, (Option<ProgressToken>, CallContext)>>,
    /// For what belongs to no call.
    fallback: CallContext,
}

impl Routes {
    pub(super) fn new(fallback: CallContext) -> Self {
        Self { calls: Mutex::default(), fallback }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, (Option<ProgressToken>, CallContext)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that a message with these marks belongs to: the one whose response stream carried it, or the
    /// only one there is. Where that is not clear, nobody's.
    pub(super) fn find(&self, extensions: &Extensions) -> CallContext {
        let calls = self.lock();
        let call = match extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => calls.get(id),
            Some(InboundStreamOrigin::Unassociated) => None,
            None => calls.values().next().filter(|_| calls.len() == 1),
        };
        call.map_or_else(|| self.fallback.clone(), |(_, context)| context.clone())
    }

    fn by_token(&self, token: &ProgressToken) -> Option<CallContext> {
        let calls = self.lock();
        calls.values().find(|(own, _)| own.as_ref() == Some(token)).map(|(_, context)| context.clone())
    }

    fn progress(&self, params: &ProgressNotificationParam) {
        let call = self.by_token(&params.progress_token);
        if let Some(caller) = call.as_ref().and_then(CallContext::caller) {
            caller.progress(Progress::new(params.progress, params.total, params.message.clone()));
        }
    }

    /// The call that a log message belongs to: the one it names, which may be over, or as [`find`](Self::find).
    fn of_log(&self, meta: Option<&NotificationMetaObject>, extensions: &Extensions) -> CallContext {
        let named = meta
            .and_then(|meta| meta.get(CALL_META))
            .and_then(|token| ProgressToken::deserialize(token).ok());
        match named {
            Some(token) => self.by_token(&token).unwrap_or_else(|| self.fallback.clone()),
            None => self.find(extensions),
        }
    }

    fn log(&self, params: &LoggingMessageNotificationParam, extensions: &Extensions) {
        let meta = params.meta.as_ref().or_else(|| extensions.get::<NotificationMetaObject>());
        let context = self.of_log(meta, extensions);
        let text = || params.data.as_str().map_or_else(|| params.data.to_string(), str::to_owned);
        match (params.logger.as_deref(), context.caller()) {
            (Some(STATUS_LOGGER), _) => context.status(text()),
            (Some(RECORD_LOGGER), _) | (_, None) => {
                context.log(RichRenderable::from_wire(params.data.clone()))
            }
            (_, Some(_)) => {
                let mut entry = LogEntry::new(LogLevel::from_mcp(params.level), params.data.clone());
                entry.logger = params.logger.clone();
                context.log_entry(entry);
            }
        }
    }
}

/// A transport that keeps [`Routes`].
pub(super) struct Tap<T> {
    pub(super) inner: T,
    pub(super) routes: Arc<Routes>,
}

impl<T: Transport<RoleClient>> Tap<T> {
    fn note(&self, message: &RxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Response(response) => {
                self.routes.lock().remove(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.routes.lock().remove(id);
                }
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => self.routes.progress(&progress.params),
                ServerNotification::LoggingMessageNotification(log) => {
                    self.routes.log(&log.params, &log.extensions);
                }
                _ => {}
            },
            JsonRpcMessage::Request(_) => {}
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &message {
            JsonRpcMessage::Request(request) => {
                if let Some(Route(context)) = request.request.extensions().get::<Route>() {
                    let token = request.request.get_meta().get_progress_token();
                    self.routes.lock().insert(request.id.clone(), (token, context.clone()));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.routes.lock().remove(id);
                }
            }
            _ => {}
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        self.note(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
