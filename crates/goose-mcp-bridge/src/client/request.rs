//! One request to a server, repeated in rounds until all of its questions are answered.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use goose_extension::{CallContext, LogLevel, ToolResult, adapter::cancelled};
use rmcp::{
    ServiceError,
    model::{
        ClientRequest, DiscoverRequest, DiscoverRequestParams, GetExtensions as _, InputRequiredResult,
        InputResponses, PingRequest, RequestMetaObject, ServerResult,
    },
    service::PeerRequestOptions,
};
use serde_json::json;

use super::{
    clock::{CallClock, silence_limit},
    connection::Connection,
    errors::failure,
    in_flight::Route,
    questions::{AnswerKinds, Budget, MAX_ROUNDS, answer_all, too_many_rounds},
    tasks,
};
use crate::{SESSION_META, WORKING_DIR_META, on_drop::OnDrop, transport::cancel_on_drop};

/// Pause before the next round if the server asks for time instead of input.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Answers to the last round, carried by the next request.
#[derive(Default)]
pub(super) struct RoundState {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// Sends requests from `make` until the server has no more questions, or the caller cancels. `what` names the
/// request in errors.
pub(super) async fn send_with_rounds(
    connection: &Connection,
    what: &str,
    context: &CallContext,
    make: impl FnMut(RoundState) -> ClientRequest + Send,
) -> ToolResult<ServerResult> {
    // Pinned, so that only a pointer moves from here on.
    let rounds = pin!(rounds(connection, what, context, make));
    let timed = async {
        match connection.options.max_call_time {
            None => rounds.await,
            Some(timeout) => tokio::time::timeout(timeout, rounds)
                .await
                .unwrap_or_else(|_| Err(failure(&connection.name, what, ServiceError::Timeout { timeout }))),
        }
    };
    match context.cancellation() {
        None => timed.await,
        Some(token) => token.run_until_cancelled(timed).await.unwrap_or_else(|| Err(cancelled(what))),
    }
}

/// Sends the rounds of a request. Rare paths are boxed here and below, so that the future of each call stays
/// small.
async fn rounds(
    connection: &Connection,
    what: &str,
    context: &CallContext,
    mut make: impl FnMut(RoundState) -> ClientRequest + Send,
) -> ToolResult<ServerResult> {
    let mut carried = RoundState::default();
    let budget = Budget::default();
    let mut pause = FIRST_PAUSE;
    for _ in 0..MAX_ROUNDS {
        match send_once(connection, what, context, &budget, make(carried)).await? {
            ServerResult::InputRequiredResult(result) => {
                carried = Box::pin(answer(result, context, &budget)).await?;
                if carried.responses.is_none() {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            ServerResult::CreateTaskResult(created) => {
                return Box::pin(tasks::follow(connection, what, context, &budget, created.task)).await;
            }
            result => return Ok(result),
        }
    }
    Err(too_many_rounds(what))
}

/// Sends one request and waits for its response. Dropping this cancels the request at the server.
async fn send_once(
    connection: &Connection,
    what: &str,
    context: &CallContext,
    budget: &Budget,
    mut request: ClientRequest,
) -> ToolResult<ServerResult> {
    let clock = connection.options.call_timeout.map(CallClock::new);
    let route = Route { context: context.clone(), clock: clock.clone(), budget: budget.clone() };
    request.extensions_mut().insert(route);
    let mut options = PeerRequestOptions::no_options();
    options.meta = meta(connection, context);
    let peer = connection.peer();
    let handle = match peer.send_request_with_option(request, options).await {
        Ok(handle) => handle,
        Err(error) => return Err(Box::pin(connection.failed(what, error)).await),
    };
    let id = handle.id.clone();
    let _route = OnDrop::new(|| connection.routes.cancel(&id));
    let waiting = cancel_on_drop(peer, id.clone(), Some(&connection.cancellations));
    let result = tokio::select! {
        result = handle.await_response() => result,
        timeout = silence_limit(clock.as_deref(), connection.options.clock()) => {
            // Dropping `waiting` cancels in the background: the server may have stopped reading.
            return Err(failure(&connection.name, what, ServiceError::Timeout { timeout }));
        }
    };
    waiting.disarm();
    match result {
        Ok(result) => Ok(result),
        Err(error) => Err(Box::pin(connection.failed(what, error)).await),
    }
}

/// Measures the response time of a server. An error response counts.
pub(super) async fn ping(connection: &Connection, limit: Duration) -> ToolResult<Duration> {
    let started = Instant::now();
    let (request, peer) = (small_request(connection), connection.peer());
    let asking = async {
        let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        let waiting = cancel_on_drop(peer, handle.id.clone(), Some(&connection.cancellations));
        let result = handle.await_response().await;
        waiting.disarm();
        result
    };
    let answer = tokio::time::timeout(limit, asking).await;
    match answer.unwrap_or(Err(ServiceError::Timeout { timeout: limit })) {
        Ok(_) | Err(ServiceError::McpError(_)) => Ok(started.elapsed()),
        Err(error) => Err(failure(&connection.name, "ping", error)),
    }
}

/// Returns the smallest request that the server answers. The newer wire has no ping; `server/discover` over
/// HTTP would wait for all running calls, so a list request replaces it there.
fn small_request(connection: &Connection) -> ClientRequest {
    if !connection.is_new_wire() {
        return ClientRequest::PingRequest(PingRequest::default());
    }
    let info = connection.peer().peer_info().filter(|_| connection.is_http);
    let capabilities = info.as_deref().map(|info| &info.capabilities);
    match capabilities {
        Some(it) if it.tools.is_some() => ClientRequest::ListToolsRequest(Default::default()),
        Some(it) if it.prompts.is_some() => ClientRequest::ListPromptsRequest(Default::default()),
        Some(it) if it.resources.is_some() => ClientRequest::ListResourcesRequest(Default::default()),
        _ => ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {})),
    }
}

/// Returns the metadata of a request: capabilities on the newer wire, if they differ from the declared ones,
/// and session and folder for local servers.
fn meta(connection: &Connection, context: &CallContext) -> Option<RequestMetaObject> {
    let mut meta = RequestMetaObject::new();
    if connection.is_new_wire() {
        let answers = AnswerKinds::from_context(context);
        if answers != connection.declared {
            meta = answers.as_meta();
        }
        if context.notifier().is_some() || context.caller().is_some() {
            meta.set_log_level(connection.options.log_level.unwrap_or(LogLevel::Debug).into_mcp());
        }
    }
    if connection.options.local {
        if let Some(id) = context.session_id() {
            meta.insert(SESSION_META.to_owned(), json!(id));
        }
        if let Some(dir) = context.own_working_dir().and_then(|dir| dir.to_str()) {
            meta.insert(WORKING_DIR_META.to_owned(), json!(dir));
        }
    }
    Some(meta).filter(|meta| !meta.is_empty())
}

async fn answer(
    result: InputRequiredResult,
    context: &CallContext,
    budget: &Budget,
) -> ToolResult<RoundState> {
    let responses = answer_all(result.input_requests.unwrap_or_default(), context, budget).await?;
    Ok(RoundState { responses: Some(responses).filter(|all| !all.is_empty()), state: result.request_state })
}
