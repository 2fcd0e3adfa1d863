//! Which call a message of the server belongs to.
//!
//! Progress, log messages and questions arrive between a request and its response. [`Tap`] sits in front of the
//! transport: it notes each call before its request is sent, and hands progress and log messages to that call
//! in the order in which they came, before the response can end it.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{
        Extensions, GetExtensions as _, GetMeta as _, JsonRpcMessage, LoggingMessageNotificationParam,
        NotificationMetaObject, ProgressNotificationParam, ProgressToken, RequestId, RequestMetaObject,
        ServerNotification,
    },
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::{
    asking::Budget,
    clock::{Clock, Held},
    shortcut,
};
use crate::{
    caller::{LogEntry, Progress},
    context::CallContext,
    mcp::{
        CALL_META, RECORD_LOGGER, STATUS_LOGGER,
        lines::{LineFaults, LineTransport},
    },
    notifier::RichRenderable,
    questions::LogLevel,
};

/// Marks an outgoing request with the context of its call. It never reaches the wire.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) context: CallContext,
    /// Restarted by each sign of progress, where somebody counts the time.
    pub(super) clock: Option<Arc<Clock>>,
    pub(super) budget: Budget,
}

/// A call in flight.
struct Call {
    token: Option<ProgressToken>,
    context: CallContext,
    clock: Option<Arc<Clock>>,
    budget: Budget,
    /// How many questions the server has asked on its behalf.
    asked: u32,
}

/// A question of the server, and the call it belongs to. While this lives, nobody's time runs out for it.
pub(super) struct Asked {
    pub(super) context: CallContext,
    /// The same for the same question of the same call, however often the call is made.
    pub(super) key: String,
    pub(super) budget: Budget,
    _held: Vec<Held>,
}

/// The calls in flight.
pub(super) struct Routes {
    calls: Mutex<HashMap<RequestId, Call>>,
    /// For what belongs to no call.
    fallback: CallContext,
    faults: Mutex<Option<Arc<LineFaults>>>,
}

impl Routes {
    pub(super) fn new(fallback: CallContext) -> Self {
        Self { calls: Mutex::default(), fallback, faults: Mutex::default() }
    }

    /// The lines that could not be used, where the server speaks in lines.
    pub(super) fn faults(&self) -> Option<Arc<LineFaults>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a call that is over.
    pub(super) fn remove(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    /// The call that a question belongs to. One that cannot be told may belong to any of them.
    pub(super) fn of_question(&self, meta: &RequestMetaObject, extensions: &Extensions) -> Asked {
        let mut calls = self.lock();
        let id = match call_token(meta.get(CALL_META)) {
            Some(token) => id_of(&calls, &token),
            None => id_by_marks(&calls, extensions),
        };
        let held = |call: &Call| call.clock.as_ref().map(Clock::hold);
        match id.and_then(|id| calls.get_mut(&id)) {
            Some(call) => {
                call.asked += 1;
                Asked {
                    context: call.context.clone(),
                    key: format!("question-{}", call.asked),
                    budget: call.budget.clone(),
                    _held: held(call).into_iter().collect(),
                }
            }
            None => Asked {
                context: self.fallback.clone(),
                key: "question".to_owned(),
                budget: Budget::default(),
                _held: calls.values().filter_map(held).collect(),
            },
        }
    }

    fn by_token<T>(&self, token: &ProgressToken, read: impl FnOnce(&Call) -> T) -> Option<T> {
        let calls = self.lock();
        id_of(&calls, token).and_then(|id| calls.get(&id)).map(read)
    }

    fn progress(&self, params: &ProgressNotificationParam) {
        let call = self.by_token(&params.progress_token, |call| (call.context.clone(), call.clock.clone()));
        let Some((context, clock)) = call else { return };
        if let Some(clock) = clock {
            clock.restart();
        }
        if let Some(caller) = context.caller() {
            caller.progress(Progress::new(params.progress, params.total, params.message.clone()));
        }
    }

    /// The call that a log message belongs to: the one it names, which may be over, or as the transport tells.
    fn of_log(&self, meta: Option<&NotificationMetaObject>, extensions: &Extensions) -> CallContext {
        let call = match call_token(meta.and_then(|meta| meta.get(CALL_META))) {
            Some(token) => self.by_token(&token, |call| call.context.clone()),
            None => {
                let calls = self.lock();
                id_by_marks(&calls, extensions).and_then(|id| calls.get(&id)).map(|call| call.context.clone())
            }
        };
        call.unwrap_or_else(|| self.fallback.clone())
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

fn call_token(value: Option<&Value>) -> Option<ProgressToken> {
    ProgressToken::deserialize(value?).ok()
}

fn id_of(calls: &HashMap<RequestId, Call>, token: &ProgressToken) -> Option<RequestId> {
    calls.iter().find(|(_, call)| call.token.as_ref() == Some(token)).map(|(id, _)| id.clone())
}

/// The call whose response stream carried a message, or the only one there is; any of several that have the same
/// caller. Where that is not clear, nobody's.
fn id_by_marks(calls: &HashMap<RequestId, Call>, extensions: &Extensions) -> Option<RequestId> {
    match extensions.get::<InboundStreamOrigin>() {
        Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
        Some(InboundStreamOrigin::Unassociated) => None,
        None => {
            let (id, first) = calls.iter().next()?;
            calls.values().all(|call| same_caller(&first.context, &call.context)).then(|| id.clone())
        }
    }
}

fn same_caller(a: &CallContext, b: &CallContext) -> bool {
    match (a.caller(), b.caller()) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// A transport that keeps [`Routes`], and tells when it has ended.
pub(super) struct Tap<T> {
    inner: T,
    routes: Arc<Routes>,
    closed: CancellationToken,
}

impl<T> Drop for Tap<T> {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl<R, W> Tap<LineTransport<RoleClient, R, W>>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Over a pair of streams, whose faults are counted; those of the last, where a server is started again.
    pub(super) fn lines(reader: R, writer: W, routes: &Arc<Routes>) -> Self {
        let lines = LineTransport::new(reader, writer).with_shortcut(shortcut::call_result);
        *routes.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(lines.faults());
        Self::new(lines, routes)
    }
}

impl<T: Transport<RoleClient>> Tap<T> {
    pub(super) fn new(inner: T, routes: &Arc<Routes>) -> Self {
        Self { inner, routes: Arc::clone(routes), closed: CancellationToken::new() }
    }

    /// Is cancelled when nothing can come in any more.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

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
                if let Some(route) = request.request.extensions().get::<Route>() {
                    let token = request.request.get_meta().get_progress_token();
                    let Route { context, clock, budget } = route.clone();
                    let call = Call { token, context, clock, budget, asked: 0 };
                    self.routes.lock().insert(request.id.clone(), call);
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
        let Some(message) = self.inner.receive().await else {
            self.closed.cancel();
            return None;
        };
        // A caller that panics must not take the connection with it.
        if catch_unwind(AssertUnwindSafe(|| self.note(&message))).is_err() {
            tracing::error!("a caller panicked over a server's message");
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
