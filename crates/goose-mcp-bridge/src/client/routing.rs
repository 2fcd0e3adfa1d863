//! Routing of a server's messages to the calls that they belong to.
//!
//! Progress, log messages and questions arrive between a request and its response. [`RoutingTransport`] sits in front of the
//! transport: it notes each call before its request is sent, and hands progress and log messages to that call
//! in the order in which they came, before the response can end it.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use goose_extension::{CallContext, LogEntry, LogLevel, Progress, RichRenderable};
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{
        CallToolResult, Extensions, GetExtensions as _, GetMeta as _, JsonRpcMessage, JsonRpcResponse,
        JsonRpcVersion2_0, LoggingMessageNotificationParam, NotificationMetaObject,
        ProgressNotificationParam, ProgressToken, RequestId, RequestMetaObject, ServerNotification,
        ServerRequest, ServerResult,
    },
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::{
    in_flight::{Asked, Calls, MessageKind, Route},
    questions::Budget,
};
use crate::{
    CALL_META, RECORD_LOGGER, STATUS_LOGGER,
    stdio_transport::{LineFaults, LineTransport},
};

/// The calls in flight on a connection.
pub(super) struct Routes {
    calls: Mutex<Calls>,
    /// For what belongs to no call.
    fallback: CallContext,
    /// The budget of questions that belong to no call.
    aside: Budget,
    faults: Mutex<Option<Arc<LineFaults>>>,
    closed: Mutex<CancellationToken>,
}

impl Routes {
    pub(super) fn new(fallback: CallContext) -> Self {
        Self {
            calls: Mutex::default(),
            fallback,
            aside: Budget::default(),
            faults: Mutex::default(),
            closed: Mutex::default(),
        }
    }

    /// The lines that could not be used, where the server speaks in lines.
    pub(super) fn faults(&self) -> Option<Arc<LineFaults>> {
        self.faults.lock().clone()
    }

    /// Is cancelled when nothing can come in any more.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.lock().clone()
    }

    /// Removes a cancelled call.
    pub(super) fn withdraw(&self, id: &RequestId) {
        self.calls.lock().withdraw(id);
    }

    /// The call that a question belongs to. One that cannot be told may belong to any of them.
    pub(super) fn of_question(&self, meta: &RequestMetaObject, extensions: &Extensions) -> Asked {
        let mut calls = self.calls.lock();
        let ids = match (call_token(meta.get(CALL_META)), extensions.get()) {
            (Some(token), _) => calls.by_token(&token).into_iter().collect(),
            (None, Some(InboundStreamOrigin::OutboundRequest(id))) => vec![id.clone()],
            // Some servers ask on the stream that is meant for what belongs to no call.
            (None, Some(InboundStreamOrigin::Unassociated) | None) => calls.of_only_owner(MessageKind::Ask),
        };
        calls.ask(&ids).unwrap_or_else(|| calls.ask_aside(&self.fallback, self.aside.renewed()))
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

    /// The call that a log message belongs to: the one it names, which may be over, or as the transport tells.
    fn of_log(&self, meta: Option<&NotificationMetaObject>, extensions: &Extensions) -> CallContext {
        let calls = self.calls.lock();
        let id = match (call_token(meta.and_then(|meta| meta.get(CALL_META))), extensions.get()) {
            (Some(token), _) => calls.by_token(&token),
            (None, Some(InboundStreamOrigin::OutboundRequest(id))) => Some(id.clone()),
            (None, Some(InboundStreamOrigin::Unassociated)) => None,
            (None, None) => calls.of_only_owner(MessageKind::Tell).pop(),
        };
        let call = id.and_then(|id| calls.get(&id));
        call.map_or_else(|| self.fallback.clone(), |call| call.context.clone())
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

/// A transport that keeps [`Routes`], and tells when it has ended.
pub(super) struct RoutingTransport<T> {
    inner: T,
    routes: Arc<Routes>,
    closed: CancellationToken,
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
    /// Over a pair of streams, whose faults are counted; those of the last, where a server is started again.
    pub(super) fn lines(reader: R, writer: W, routes: &Arc<Routes>) -> Self {
        let lines = LineTransport::new(reader, writer).with_shortcut(call_result);
        *routes.faults.lock() = Some(lines.faults());
        Self::new(lines, routes)
    }
}

impl<T: Transport<RoleClient>> RoutingTransport<T> {
    pub(super) fn new(inner: T, routes: &Arc<Routes>) -> Self {
        let closed = CancellationToken::new();
        *routes.closed.lock() = closed.clone();
        Self { inner, routes: Arc::clone(routes), closed }
    }

    /// Is cancelled when nothing can come in any more.
    pub(super) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    fn note(&self, message: &mut RxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Response(response) => {
                self.routes.calls.lock().answered(&response.id);
            }
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.routes.calls.lock().answered(id);
                }
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => self.routes.progress(&progress.params),
                ServerNotification::LoggingMessageNotification(log) => {
                    self.routes.log(&log.params, &log.extensions);
                }
                _ => {}
            },
            // It is settled now whom a question goes to: the call may be over when it is handled.
            JsonRpcMessage::Request(request) if is_question(&request.request) => {
                let asked = self.routes.of_question(request.request.get_meta(), request.request.extensions());
                request.request.extensions_mut().insert(Arc::new(asked));
            }
            JsonRpcMessage::Request(_) => {}
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
                    self.routes.withdraw(id);
                }
            }
            _ => {}
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let Some(mut message) = self.inner.receive().await else {
            self.closed.cancel();
            return None;
        };
        // A caller that panics must not take the connection with it.
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

/// The result of a call, where the line is one and has content.
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

    /// Messages do not compare, but what they print does.
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
