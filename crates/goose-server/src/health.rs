//! State of the server: `/healthz`, `/readyz`, `/metrics`, and the OpenAPI document.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    body::{Json, json},
    endpoint::{Content, Endpoint},
    state::AppState,
};

/// State of the server.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`, or `stopping`.
    status: &'static str,
    version: &'static str,
}

impl Health {
    fn new(status: &'static str) -> Self {
        Self { status, version: env!("CARGO_PKG_VERSION") }
    }
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    const TAG: &str = "Server";
    vec![
        Endpoint::get("/healthz", async || Json(Health::new("ok")))
            .open()
            .about(TAG, "Says that the server runs")
            .gives::<Health>(200, "It runs"),
        Endpoint::get("/readyz", ready)
            .open()
            .about(TAG, "Says if the server accepts work")
            .gives::<Health>(200, "It accepts work")
            .gives::<Health>(503, "It is stopping"),
        Endpoint::get("/metrics", metrics).about(TAG, "Counters in the text format of Prometheus").answers(
            200,
            "Counters",
            vec![Content::Text],
        ),
        Endpoint::get("/openapi.json", async |State(app): State<AppState>| {
            json(StatusCode::OK, &app.document)
        })
        .about(TAG, "This document")
        .gives::<serde_json::Map<String, Value>>(200, "The document"),
    ]
}

async fn ready(State(app): State<AppState>) -> Response {
    match app.closing.is_cancelled() {
        false => json(StatusCode::OK, &Health::new("ok")),
        true => json(StatusCode::SERVICE_UNAVAILABLE, &Health::new("stopping")),
    }
}

async fn metrics(State(app): State<AppState>) -> Response {
    let text = app.metrics.text(app.sessions.count());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
