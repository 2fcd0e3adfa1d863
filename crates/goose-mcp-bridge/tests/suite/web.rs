//! A web server on loopback that answers as a test says, and what an MCP server of the older wire says.

use std::net::SocketAddr;

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header},
};
use goose_extension::prelude::*;
use tokio::{net::TcpListener, task::JoinHandle};

/// A request as it came.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Asked {
    /// The message in it; null where there is none.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(crate) fn rpc(&self) -> String {
        self.message()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A running web server; it ends when this is dropped.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Web {
    pub(crate) async fn serve<F>(answer: impl Fn(Asked) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().fallback(move |request: Request<Body>| {
            let answer = answer.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let text = String::from_utf8_lossy(&body).into_owned();
                answer(Asked { method: parts.method, uri: parts.uri, headers: parts.headers, text }).await
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn status(status: u16) -> Response<Body> {
    Response::builder().status(status).body(Body::empty()).unwrap()
}

pub(crate) fn with_header(mut response: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    response.headers_mut().insert(name, value.parse().unwrap());
    response
}

pub(crate) fn json_answer(value: &Value) -> Response<Body> {
    let response =
        Response::builder().status(StatusCode::OK).header(header::CONTENT_TYPE, "application/json");
    response.body(Body::from(value.to_string())).unwrap()
}

/// The answers of a server with one tool, `work`.
pub(crate) fn mcp(asked: &Asked) -> Response<Body> {
    let message = asked.message();
    let result = match asked.rpc().as_str() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{ "name": "work", "inputSchema": { "type": "object" } }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "done" }] }),
        "ping" => json!({}),
        _ if asked.method == Method::POST => return status(202),
        _ => return status(405),
    };
    json_answer(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}
