//! The Agent Client Protocol over WebSocket at `/acp`: one message of JSON-RPC in each text message.
//!
//! Sessions are those of the other protocols. The client's files, terminals and tools are not used.

use async_trait::async_trait;
use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures::{SinkExt as _, StreamExt as _};
use goose::{
    agent_manager::OpenError,
    config::{Profile, Settings},
};
use goose_acp::{ChooseProfile, EditorAgent};
use goose_providers::ModelRef;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::{
    endpoint::{Content, Endpoint},
    error::{ApiError, ApiResult},
    limits::Permit,
    state::AppState,
    tokens::{Client, Scope},
};

/// Maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes on their way between the connection and the agent.
const BUFFER_BYTES: usize = 64 * 1024;

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/acp", open)
            .scope(Scope::Run)
            .about("Agent Client Protocol", "Opens a WebSocket for the Agent Client Protocol, version 1")
            .answers(101, "The connection is a WebSocket from now on", vec![Content::Nothing])
            .fails(&[(426, "The request does not open a WebSocket")]),
    ]
}

async fn open(
    State(app): State<AppState>,
    Extension(client): Extension<Client>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    app.check_open()?;
    let upgrade = upgrade.map_err(|error| {
        ApiError::new(http::StatusCode::UPGRADE_REQUIRED, "websocket", format!("{}.", error.body_text()))
    })?;
    let permit = app.limits.stream(&client)?;
    let agent = app.sessions.editor_agent(&client);
    let upgrade = upgrade.max_message_size(MAX_MESSAGE_BYTES).max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(async move |socket| serve(&app, &client, agent, socket, permit).await))
}

/// Serves a client until it leaves, its token is revoked, or the server stops.
async fn serve(app: &AppState, client: &Client, agent: EditorAgent, socket: WebSocket, _permit: Permit) {
    let stop = app.stop.child_token();
    let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
    let (output, input) = tokio::io::split(theirs);
    let serving = async {
        agent.serve(output, input, stop.clone()).await;
        stop.cancel();
    };
    let carrying = async {
        tokio::select! {
            () = carry(socket, ours) => {}
            () = client.revoked.cancelled() => {}
            () = stop.cancelled() => {}
        }
        stop.cancel();
    };
    app.metrics.streams.enter();
    tokio::join!(serving, carrying);
    app.metrics.streams.leave();
}

/// Carries messages between a WebSocket and the lines of an agent, until one of them ends.
async fn carry(socket: WebSocket, lines: impl AsyncRead + AsyncWrite) {
    let (mut to_client, mut from_client) = socket.split();
    let (reader, mut writer) = tokio::io::split(lines);
    let mut reader = BufReader::new(reader);
    let receiving = async {
        while let Some(Ok(message)) = from_client.next().await {
            let Message::Text(text) = message else { continue };
            // A line end within JSON is white space.
            let mut line = text.replace(['\n', '\r'], " ");
            line.push('\n');
            if writer.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    let sending = async {
        let mut line = String::new();
        while reader.read_line(&mut line).await.is_ok_and(|read| read > 0) {
            if to_client.send(Message::text(line.trim_end())).await.is_err() {
                return;
            }
            line.clear();
        }
    };
    tokio::select! {
        () = receiving => {}
        () = sending => {}
    }
}

/// Profile of a folder, with the model of the server where it names none.
pub(crate) struct ServedProfiles {
    pub(crate) model: Option<ModelRef>,
}

#[async_trait]
impl ChooseProfile for ServedProfiles {
    async fn profile(&self, settings: &Settings) -> Result<Profile, OpenError> {
        let mut profile = settings.profile(None)?;
        profile.processor = profile.processor.or_else(|| self.model.clone());
        Ok(profile)
    }
}
