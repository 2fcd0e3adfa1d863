//! Routes a server's messages to the calls that they belong to.
//!
//! Progress, log messages and questions arrive between a request and its response. [`RoutingTransport`] wraps
//! the transport: it registers each call before its request is sent, and passes progress and log messages to
//! that call in order, before the response can end it.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use goose_extension::{CallContext, LogEntry, LogLevel, Progress, RichRenderable};
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        CallToolResult, ClientRequest, DiscoverRequestMethod, ErrorData, Extensions, GetExtensions as _,
        GetMeta as _, JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, LoggingMessageNotificationParam,
        NotificationMetaObject, ProgressNotificationParam, ProgressToken, RequestId, RequestMetaObject,
        ServerNotification, ServerRequest, ServerResult,
    },
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::{
    in_flight::{Calls, MessageKind, OpenQuestion, Route},
    questions::Budget,
};
use crate::{
    CALL_META, RECORD_LOGGER, STATUS_LOGGER,
    stdio_transport::{LineFaults, LineTransport},
    transport::answered_id,
};

/// Calls in flight on a connection, with the owner of messages that belong to none.
pub(super) struct Routes {
    calls: Mutex<Calls>,
    /// Context of messages that belong to no call.
    fallback: CallContext,
    /// Budget of questions that belong to no call.
    unassigned: Budget,
    faults: Mutex<Option<Arc<LineFaults>>>,
    closed: Mutex<CancellationToken>,
    /// Set if `initialize` was sent without an answer to the `server/discover` probe.
    has_given_up_probe: AtomicBool,
}

impl Routes {
    pub(super) fn new(fallback: CallContext) -> Self {
        Self {
            calls: Mutex::default(),
            fallback,
            unassigned: Budget::default(),
            faults: Mutex::default(),
            closed: Mutex::default(),
            has_given_up_probe: AtomicBool::new(false),
        }
    }

    /// Returns true if the server was too slow for the `server/discover` probe.
    pub(super) fn has_given_up_probe(&self) -> bool {
        self.has_given_up_probe.load(Ordering::Relaxed)
    }

    /// Returns the counters of unusable lines, if the transport is line-based.
    pub(super) fn faults(&self) -> Option<Arc<LineFaults>> {
        self.faults.lock().clone()
    }

    /// Returns the token that is cancelled when no more messages can arrive over the last transport.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.lock().clone()
    }

    /// Removes a cancelled call.
    pub(super) fn cancel(&self, id: &RequestId) {
        self.calls.lock().cancel(id);
    }

    /// Finds the call of a question. If it is unknown, the question may belong to any call.
    pub(super) fn question_owner(&self, meta: &RequestMetaObject, extensions: &Extensions) -> OpenQuestion {
        let mut calls = self.calls.lock();
        let ids = match (call_token(meta.get(CALL_META)), extensions.get()) {
            (Some(token), _) => calls.by_token(&token).into_iter().collect(),
            (None, Some(InboundStreamOrigin::OutboundRequest(id))) => vec![id.clone()],
            // Some servers send questions of a call on the stream for messages that belong to none.
            (None, Some(InboundStreamOrigin::Unassociated) | None) => calls.of_single_owner(MessageKind::Ask),
        };
        calls
            .open_question(&ids)
            .unwrap_or_else(|| calls.open_unassigned_question(&self.fallback, self.unassigned.fresh()))
    }

    fn progress(&self, params: &ProgressNotificationParam) {
        let call = {
            let calls = self.calls.lock();
            let call = calls.by_token(&params.progress_token).and_then(|id| calls.get(&id));
            call.map(|call| (call.context.clone(), call.clock.clone()))
        };
        let Some((context, clock)) = call else { return };
        if let Some(clock) = clock {
            clock.restart();
        }
        if let Some(caller) = context.caller() {
            caller.progress(Progress::new(params.progress, params.total, params.message.clone()));
        }
    }

    /// Finds the context of a log message: of the call that it names, or of the request whose stream it came
    /// on.
    fn log_owner(&self, meta: Option<&NotificationMetaObject>, extensions: &Extensions) -> CallContext {
        let calls = self.calls.lock();
        let id = match (call_token(meta.and_then(|meta| meta.get(CALL_META))), extensions.get()) {
            (Some(token), _) => calls.by_token(&token),
            (None, Some(InboundStreamOrigin::OutboundRequest(id))) => Some(id.clone()),
            (None, Some(InboundStreamOrigin::Unassociated)) => None,
            (None, None) => calls.of_single_owner(MessageKind::Tell).pop(),
        };
        let call = id.and_then(|id| calls.get(&id));
        call.map_or_else(|| self.fallback.clone(), |call| call.context.clone())
    }

    fn log(&self, params: &LoggingMessageNotificationParam, extensions: &Extensions) {
        let meta = params.meta.as_ref().or_else(|| extensions.get::<NotificationMetaObject>());
        let context = self.log_owner(meta, extensions);
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

/// Transport that maintains [`Routes`], and signals its end.
pub(super) struct RoutingTransport<T> {
    inner: T,
    routes: Arc<Routes>,
    closed: CancellationToken,
    probe: Probe,
}

/// State of the `server/discover` probe. rmcp starts the older handshake after an error or a while, and takes
/// any other answer for a failure of the connection.
enum Probe {
    None,
    Sent(RequestId),
    /// `initialize` was sent without waiting for the answer to the probe.
    GivenUp(RequestId),
}

impl Probe {
    fn sent(&mut self, id: &RequestId, request: &ClientRequest) {
        match (request, std::mem::replace(self, Self::None)) {
            (ClientRequest::DiscoverRequest(_), _) => *self = Self::Sent(id.clone()),
            (ClientRequest::InitializeRequest(_), Self::Sent(probe)) => *self = Self::GivenUp(probe),
            (_, before) => *self = before,
        }
    }

    /// Returns the message, as an error if a server of the older wire answers the probe with a result of
    /// another kind. Returns `None` for an answer that nothing waits for.
    fn received(&mut self, message: RxJsonRpcMessage<RoleClient>) -> Option<RxJsonRpcMessage<RoleClient>> {
        let (probe, is_late) = match &*self {
            Self::None => return Some(message),
            Self::Sent(probe) => (probe, false),
            Self::GivenUp(probe) => (probe, true),
        };
        if answered_id(&message) != Some(probe) {
            return Some(message);
        }
        *self = Self::None;
        match message {
            _ if is_late => None,
            JsonRpcMessage::Response(response)
                if !matches!(response.result, ServerResult::DiscoverResult(_)) =>
            {
                let error = ErrorData::method_not_found::<DiscoverRequestMethod>();
                Some(JsonRpcMessage::error(error, Some(response.id)))
            }
            answer => Some(answer),
        }
    }
}

impl<T> Drop for RoutingTransport<T> {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl<R, W> RoutingTransport<LineTransport<RoleClient, R, W>>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport over a pair of streams. Its fault counters replace those of an earlier attempt.
    pub(super) fn lines(reader: R, writer: W, routes: &Arc<Routes>) -> Self {
        let lines = LineTransport::new(reader, writer).with_fast_path(call_result);
        *routes.faults.lock() = Some(lines.faults());
        Self::new(lines, routes)
    }
}

impl<T: Transport<RoleClient>> RoutingTransport<T> {
    pub(super) fn new(inner: T, routes: &Arc<Routes>) -> Self {
        let closed = CancellationToken::new();
        *routes.closed.lock() = closed.clone();
        Self { inner, routes: Arc::clone(routes), closed, probe: Probe::None }
    }

    fn note(&self, message: &mut RxJsonRpcMessage<RoleClient>) {
        if let Some(id) = answered_id(message) {
            self.routes.calls.lock().remove_answered(id);
        }
        match message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => self.routes.progress(&progress.params),
                ServerNotification::LoggingMessageNotification(log) => {
                    self.routes.log(&log.params, &log.extensions);
                }
                _ => {}
            },
            // Assigned now: the call may have ended when the question is handled.
            JsonRpcMessage::Request(request) if is_question(&request.request) => {
                let asked =
                    self.routes.question_owner(request.request.get_meta(), request.request.extensions());
                request.request.extensions_mut().insert(Arc::new(asked));
            }
            _ => {}
        }
    }
}

fn is_question(request: &ServerRequest) -> bool {
    matches!(
        request,
        ServerRequest::ElicitRequest(_)
            | ServerRequest::CreateMessageRequest(_)
            | ServerRequest::ListRootsRequest(_)
    )
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RoutingTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &message {
            JsonRpcMessage::Request(request) => {
                self.probe.sent(&request.id, &request.request);
                if matches!(self.probe, Probe::GivenUp(_)) {
                    self.routes.has_given_up_probe.store(true, Ordering::Relaxed);
                }
                if let Some(route) = request.request.extensions().get::<Route>() {
                    let token = request.request.get_meta().get_progress_token();
                    self.routes.calls.lock().begin(request.id.clone(), token, route.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.routes.cancel(id);
                }
            }
            _ => {}
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let mut message = loop {
            let Some(message) = self.inner.receive().await else {
                self.closed.cancel();
                return None;
            };
            if let Some(message) = self.probe.received(message) {
                break message;
            }
        };
        // A caller that panics must not end the connection.
        if catch_unwind(AssertUnwindSafe(|| self.note(&mut message))).is_err() {
            tracing::error!("a caller panicked over a server's message");
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[derive(Deserialize)]
struct Answer {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
    method: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Parses the result of a call that has content. A shortcut for the most common line: rmcp buffers a message
/// and tries its types in turn.
pub(super) fn call_result(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let Answer { jsonrpc, id, result, method: None, error: None } = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let is_clear = !result.content.is_empty() || result.structured_content.is_some();
    let result = is_clear.then_some(ServerResult::CallToolResult(result))?;
    Some(JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares messages, which do not implement `PartialEq`, by their debug output.
    fn shown(message: Option<RxJsonRpcMessage<RoleClient>>) -> Option<String> {
        message.map(|message| format!("{message:?}"))
    }

    #[test]
    fn a_result_of_a_call_is_read_as_rmcp_reads_it() {
        for result in [
            r#"{"content":[{"type":"text","text":"a"}]}"#,
            r#"{"resultType":"complete","content":[],"structuredContent":null,"isError":true}"#,
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1},"_meta":{"b":2},"new":3}"#,
        ] {
            for id in ["7", r#""7""#] {
                let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                let (ours, theirs) = (call_result(line.as_bytes()), serde_json::from_str(&line).ok());
                assert!(ours.is_some(), "{line}");
                assert_eq!(shown(ours), shown(theirs), "{line}");
            }
        }
    }

    #[test]
    fn everything_else_is_left_to_rmcp() {
        for line in [
            "",
            "{",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"resultType":"complete"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","content":[{"type":"text","text":"a"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:b","text":"c"}]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{"content":[{"type":"text","text":"a"}]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ] {
            assert!(call_result(line.as_bytes()).is_none(), "{line}");
        }
    }
}
