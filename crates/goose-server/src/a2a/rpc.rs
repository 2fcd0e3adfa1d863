//! The methods of A2A over JSON-RPC.

use std::sync::Arc;

use axum::{
    Extension,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
};
use futures::StreamExt as _;
use http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    PATH, TAG, card,
    form::{Form, Translation, parts},
    list,
};
use crate::{
    agent_communication::{
        models::{Event, Message, to_goose},
        routes::{MAX_CLIENT_ID, find, follow, start},
    },
    body::{MAX_BODY_BYTES, json as json_answer, read},
    endpoint::{Content, Endpoint, schema_of},
    error::{ApiError, ApiResult},
    ids::Uuid,
    questions,
    runs::Run,
    sse::{self, Beat, Frame},
    state::AppState,
    tokens::Client,
};

/// Agent that answers if a message names none.
const DEFAULT_AGENT: &str = "goose-agent";

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const INTERNAL: i64 = -32_603;
const TASK_NOT_FOUND: i64 = -32_001;
const TASK_NOT_CANCELABLE: i64 = -32_002;
const UNSUPPORTED: i64 = -32_004;

/// Request of JSON-RPC.
#[derive(Debug, Deserialize, JsonSchema)]
struct RpcRequest {
    /// Always `2.0`.
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Map<String, Value>,
}

/// Answer of JSON-RPC.
#[derive(Debug, Serialize, JsonSchema)]
struct RpcAnswer {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// Error of JSON-RPC.
#[derive(Debug, Serialize, JsonSchema)]
struct RpcError {
    code: i64,
    message: String,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<ApiError> for RpcError {
    fn from(error: ApiError) -> Self {
        let code = match error.status {
            StatusCode::NOT_FOUND => TASK_NOT_FOUND,
            StatusCode::CONFLICT => UNSUPPORTED,
            status if status.is_client_error() => INVALID_PARAMS,
            _ => INTERNAL,
        };
        Self::new(code, error.message)
    }
}

/// Work that a method stands for.
#[derive(Debug, Clone, Copy)]
enum Method {
    Send,
    Stream,
    Get,
    Cancel,
    Subscribe,
    ExtendedCard,
    List,
    /// Method of the protocol that this server does not have.
    Unsupported,
}

fn method(name: &str) -> Option<(Method, Form)> {
    Some(match name {
        "SendMessage" => (Method::Send, Form::Fields),
        "SendStreamingMessage" => (Method::Stream, Form::Fields),
        "GetTask" => (Method::Get, Form::Fields),
        "CancelTask" => (Method::Cancel, Form::Fields),
        "SubscribeToTask" => (Method::Subscribe, Form::Fields),
        "GetExtendedAgentCard" => (Method::ExtendedCard, Form::Fields),
        "message/send" => (Method::Send, Form::Kinds),
        "message/stream" => (Method::Stream, Form::Kinds),
        "tasks/get" => (Method::Get, Form::Kinds),
        "tasks/cancel" => (Method::Cancel, Form::Kinds),
        "tasks/resubscribe" => (Method::Subscribe, Form::Kinds),
        "agent/getAuthenticatedExtendedCard" => (Method::ExtendedCard, Form::Kinds),
        "ListTasks" => (Method::List, Form::Fields),
        name if name.starts_with("tasks/") || name.contains("PushNotificationConfig") => {
            (Method::Unsupported, Form::Kinds)
        }
        _ => return None,
    })
}

pub(super) fn endpoint() -> Endpoint {
    Endpoint::post(PATH, answer)
        .about(TAG, "A2A over JSON-RPC, versions 1.0 and 0.3")
        .header("A2A-Version", "Version of the protocol; the method tells it as well")
        .takes::<RpcRequest>()
        .answers(
            200,
            "The result, or an error of the protocol; a stream of results for streaming methods",
            vec![Content::Json(schema_of::<RpcAnswer>), Content::Events(schema_of::<RpcAnswer>)],
        )
}

fn failed(id: Value, error: RpcError) -> Response {
    json_answer(StatusCode::OK, &RpcAnswer { jsonrpc: "2.0", id, result: None, error: Some(error) })
}

async fn answer(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match read(body, MAX_BODY_BYTES).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let value: Value = match serde_json::from_slice(&body) {
        Ok(value) => value,
        Err(error) => {
            return failed(
                Value::Null,
                RpcError::new(PARSE_ERROR, format!("The body is not JSON: {error}.")),
            );
        }
    };
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let request: RpcRequest = match serde_json::from_value(value) {
        Ok(request) => request,
        Err(error) => {
            return failed(
                id,
                RpcError::new(INVALID_REQUEST, format!("This is not a request of JSON-RPC: {error}.")),
            );
        }
    };
    if request.jsonrpc != "2.0" || request.id.is_none() {
        return failed(id, RpcError::new(INVALID_REQUEST, "A request has `jsonrpc: \"2.0\"` and an `id`."));
    }
    let Some((method, form)) = method(&request.method) else {
        return failed(id, RpcError::new(METHOD_NOT_FOUND, "There is no such method."));
    };
    let call = Call { app, client, headers, form, id: id.clone(), params: request.params };
    call.run(method).await.unwrap_or_else(|error| failed(id, error))
}

/// Call of a method.
struct Call {
    app: AppState,
    client: Client,
    headers: HeaderMap,
    form: Form,
    id: Value,
    params: Map<String, Value>,
}

impl Call {
    async fn run(self, method: Method) -> Result<Response, RpcError> {
        match method {
            Method::Send => {
                let (run, _) = self.send().await?;
                if self.waits() {
                    tokio::select! {
                        () = run.stopped() => {}
                        () = self.app.stop.cancelled() => {}
                    }
                }
                Ok(self.result(self.form.sent(&run.model())))
            }
            Method::Stream => {
                let (run, after) = self.send().await?;
                self.stream(run, after)
            }
            Method::Get => {
                let run = self.task().await?;
                Ok(self.result(self.form.task(&run.model())))
            }
            Method::Cancel => {
                let run = self.task().await?;
                run.cancel().map_err(|error| RpcError::new(TASK_NOT_CANCELABLE, error.message))?;
                run.stopped_for_good(&self.app.stop).await;
                Ok(self.result(self.form.task(&run.model())))
            }
            Method::Subscribe => {
                let run = self.task().await?;
                if run.status().is_terminal() {
                    return Err(RpcError::new(UNSUPPORTED, "The task has ended. Get it instead."));
                }
                self.stream(run, 0)
            }
            Method::ExtendedCard => Ok(self.result(card::extended(&self.app, &self.headers))),
            Method::List => Ok(self.result(list::page(&self.app, self.form, &self.params).await?)),
            Method::Unsupported => Err(RpcError::new(UNSUPPORTED, "This server does not support that.")),
        }
    }

    fn result(&self, result: Value) -> Response {
        let answer = RpcAnswer { jsonrpc: "2.0", id: self.id.clone(), result: Some(result), error: None };
        json_answer(StatusCode::OK, &answer)
    }

    /// Returns true if the client waits for the task. Clients of both versions do so by default.
    fn waits(&self) -> bool {
        let flag = |name: &str| self.params.get("configuration")?.get(name)?.as_bool();
        !flag("returnImmediately").unwrap_or_default() && flag("blocking") != Some(false)
    }

    async fn task(&self) -> Result<Arc<Run>, RpcError> {
        let id = self.params.get("id").and_then(Value::as_str);
        let id = id.ok_or_else(|| RpcError::new(INVALID_PARAMS, "`id` names the task."))?;
        // Version 1.0 of some clients writes `tasks/ID`.
        Ok(find(&self.app, id.strip_prefix("tasks/").unwrap_or(id)).await?)
    }

    /// Starts a task, or answers the question that a task waits for. Returns it, and the number of its last event
    /// before.
    async fn send(&self) -> Result<(Arc<Run>, u64), RpcError> {
        self.app.check_open()?;
        let message = self.params.get("message").and_then(Value::as_object);
        let message = message.ok_or_else(|| RpcError::new(INVALID_PARAMS, "`message` is missing."))?;
        let field = |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let said =
            Message { role: "user".to_owned(), parts: parts(message)?, created_at: None, completed_at: None };
        if let Some(task) = field("taskId") {
            let run = find(&self.app, task).await?;
            let after = run.last();
            run.answer(|record| questions::of_message(record, &said, &self.client))?;
            return Ok((run, after));
        }
        let context: Option<Uuid> = field("contextId").map(str::parse).transpose().map_err(ApiError::from)?;
        let id = field("messageId").filter(|id| id.len() <= MAX_CLIENT_ID).map(str::to_owned);
        let agent = [message.get("metadata"), self.params.get("metadata")]
            .into_iter()
            .flatten()
            .find_map(|metadata| metadata.get("agent")?.as_str())
            .unwrap_or(DEFAULT_AGENT);
        let goose: ApiResult<_> = to_goose(&[said]);
        Ok((start(&self.app, &self.client, agent, context, id, goose?).await?, 0))
    }

    fn stream(self, run: Arc<Run>, after: u64) -> Result<Response, RpcError> {
        let mut translation = Translation::new(self.form, run.model());
        let id = self.id;
        let frames = follow(run, None, after, Event::is_stop).filter_map(move |(_, _, event)| {
            let result = translation.event(&event);
            let answer = result.map(|result| json!({"jsonrpc": "2.0", "id": id, "result": result}));
            std::future::ready(answer.map(|answer| Frame { id: None, name: None, data: answer.to_string() }))
        });
        Ok(sse::answer(&self.app, &self.client, Beat::Comment, frames)?)
    }
}
