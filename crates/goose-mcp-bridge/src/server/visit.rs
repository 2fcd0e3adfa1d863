//! One request of a client that may ask back: its context, what it sends meanwhile, and how it ends.

use std::sync::Arc;

use goose_extension::{CallContext, LogLevel, ToolResult, adapter::catch};
use rmcp::{
    RoleServer,
    model::{ErrorData, InputRequiredResult, InputResponses, ProtocolVersion, RequestStateCodec},
    service::RequestContext,
};
use serde::Serialize;

use super::{caller::WireCaller, outbox::Outbox, rounds::Round};
use crate::{SESSION_META, WORKING_DIR_META};

/// What a request says about its rounds, and what identifies it.
pub(super) struct Request<'a, P> {
    pub(super) identity: P,
    pub(super) state: Option<&'a str>,
    pub(super) responses: Option<InputResponses>,
}

/// How a visit ended: with a result, or with questions.
pub(super) enum Ended<T> {
    Done(T),
    InputRequired(InputRequiredResult),
}

pub(super) struct Visit {
    pub(super) context: CallContext,
    caller: Arc<WireCaller>,
    binding: Vec<u8>,
}

impl Visit {
    /// Opens a visit. `session_level` is what the client of the older wire set for its session;
    /// `trusted` clients may say where the work is done.
    pub(super) fn open<P: Serialize>(
        context: RequestContext<RoleServer>,
        request: Request<'_, P>,
        codec: &RequestStateCodec,
        session_level: LogLevel,
        trusted: bool,
    ) -> Result<Self, ErrorData> {
        let rounds = is_new_wire(&context);
        let binding =
            if rounds { serde_json::to_vec(&request.identity).unwrap_or_default() } else { Vec::new() };
        let round =
            if rounds { Some(Round::open(codec, &binding, request.state, request.responses)?) } else { None };
        let cancellation = context.ct.clone();
        let least_level = if rounds { None } else { Some(session_level) };
        let caller = Arc::new(WireCaller {
            request: context,
            session_level: least_level,
            outbox: Outbox::default(),
            round,
        });
        let mut call = CallContext::new()
            .with_cancellation(cancellation)
            .with_notifier(caller.clone())
            .with_caller(caller.clone());
        if trusted {
            let meta = &caller.request.meta;
            if let Some(id) = meta.get(SESSION_META).and_then(|id| id.as_str()) {
                call = call.with_session_id(id);
            }
            if let Some(dir) = meta.get(WORKING_DIR_META).and_then(|dir| dir.as_str()) {
                call = call.with_working_dir(dir);
            }
        }
        Ok(Self { context: call, caller, binding })
    }

    /// Runs `call`, sends what it reports while it runs, and ends the visit. `what` names it in errors.
    pub(super) async fn run<T>(
        self,
        codec: &RequestStateCodec,
        what: &str,
        call: impl Future<Output = ToolResult<T>>,
    ) -> Result<Ended<T>, ErrorData> {
        let outbox = &self.caller.outbox;
        // Both go on side by side: a client that does not read must not keep the call from being cancelled.
        let call = async {
            let result = catch(what, call).await;
            outbox.close();
            result
        };
        let (result, ()) = futures::join!(call, self.deliver());
        // Open questions decide, whatever the function made of the interruption.
        if let Some(round) = &self.caller.round
            && let Some(questions) = round.close(codec, &self.binding)?
        {
            return Ok(Ended::InputRequired(questions));
        }
        Ok(Ended::Done(result?))
    }

    async fn deliver(&self) {
        while let Some(notification) = self.caller.outbox.next().await {
            if let Err(error) = self.caller.request.peer.send_notification(notification).await {
                tracing::debug!(%error, "a notification could not be sent");
            }
        }
    }
}

/// Whether the request came on the 2026-07-28 wire, where a server cannot call its client.
pub(super) fn is_new_wire(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !is_older(&version))
}

fn is_older(version: &ProtocolVersion) -> bool {
    version.as_str() < ProtocolVersion::V_2026_07_28.as_str()
}
