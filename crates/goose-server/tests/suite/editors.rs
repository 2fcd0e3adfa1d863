//! The Agent Client Protocol over WebSocket: prompts, questions, and what a client over a network may not do.

use anyhow::{Context as _, ensure};
use futures::{SinkExt as _, StreamExt as _};
use goose_server::{Scope, TokenStore};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, Message, client::IntoClientRequest as _},
};

use crate::support::{LIMIT, TestServer, text};

/// A client on a WebSocket.
struct Editor {
    socket: WebSocketStream<TcpStream>,
    last: u64,
    /// Updates and requests of the agent since the last request.
    heard: Vec<Value>,
}

impl Editor {
    async fn connect(server: &TestServer, headers: &[(&'static str, &str)]) -> anyhow::Result<Self> {
        let address = server.server.as_ref().context("it runs")?.address();
        let mut request = format!("ws://{address}/acp").into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse()?);
        }
        let (socket, _) = client_async(request, TcpStream::connect(address).await?).await?;
        Ok(Self { socket, last: 0, heard: Vec::new() })
    }

    async fn with_token(server: &TestServer, token: &str) -> anyhow::Result<Self> {
        let mut editor = Self::connect(server, &[("authorization", &format!("Bearer {token}"))]).await?;
        editor.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})).await?;
        Ok(editor)
    }

    /// Sends a request, allows what is asked meanwhile, and returns the result or the error.
    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        // A message may be written in several lines.
        self.socket.send(Message::text(serde_json::to_string_pretty(&request)?)).await?;
        self.heard.clear();
        loop {
            let message = tokio::time::timeout(LIMIT, self.socket.next()).await?.context("it is open")??;
            let Message::Text(text) = message else { continue };
            let message: Value = serde_json::from_str(&text)?;
            if message["id"] == self.last && message.get("method").is_none() {
                return Ok(message.get("result").unwrap_or(&message["error"]).clone());
            }
            if message["method"] == "session/request_permission" {
                let result = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                self.socket.send(Message::text(answer.to_string())).await?;
            }
            self.heard.push(message);
        }
    }

    async fn refused(&mut self, method: &str, params: Value, why: &str) -> anyhow::Result<()> {
        let answer = self.ask(method, params).await?;
        ensure!(
            answer["message"].as_str().is_some_and(|message| message.contains(why)),
            "{method}: {answer}"
        );
        Ok(())
    }

    fn heard(&self) -> String {
        self.heard.iter().map(Value::to_string).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_over_websocket_is_read_over_rest() -> anyhow::Result<()> {
    let model = ModelServer::scripted([
        Turn::call("developer__shell", json!({"command": "echo made"})),
        Turn::text("Over the socket."),
        Turn::text("Over REST."),
    ])?;
    let server = TestServer::with(model, "approve", |_| {}).await?;
    let folder = server.folder.path().join("work/inner").canonicalize()?;
    let mut editor = Editor::with_token(&server, &server.token).await?;
    let session = editor.ask("session/new", json!({"cwd": folder, "mcpServers": []})).await?;
    let id = text(&session, "sessionId")?.to_owned();
    let prompt = json!({"sessionId": id, "prompt": [{"type": "text", "text": "Make it"}]});
    let ended = editor.ask("session/prompt", prompt).await?;
    ensure!(ended["stopReason"] == "end_turn", "{ended}");
    let heard = editor.heard();
    ensure!(heard.contains("session/request_permission") && heard.contains("Over the socket."), "{heard}");

    // The same session over REST, and again over the socket.
    let path = format!("/api/v1/sessions/{id}");
    let steps = server.get(&format!("{path}/steps")).await?.to_string();
    ensure!(steps.contains("Over the socket."), "{steps}");
    let message = json!({"id": "m1", "parts": [{"content": "Go on"}]});
    let run = server.post(&format!("{path}/messages"), message, 202).await?;
    server.until(&run, "completed").await?;
    let mut second = Editor::with_token(&server, &server.token).await?;
    second.ask("session/load", json!({"sessionId": id, "cwd": folder, "mcpServers": []})).await?;
    ensure!(second.heard().contains("Over REST."), "{}", second.heard());
    let listed = second.ask("session/list", json!({})).await?;
    ensure!(listed["sessions"][0]["sessionId"] == id, "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_websocket_stays_within_its_rights() -> anyhow::Result<()> {
    let server = TestServer::with(ModelServer::scripted([])?, "approve", |_| {}).await?;
    let store = TokenStore::new(server.folder.path().join("data/server/tokens.json"));
    let folder = server.folder.path().join("work").canonicalize()?;
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer wrong")], 401),
        (vec![("x-secret-key", server.token.as_str()), ("origin", "http://localhost:1")], 403),
        (vec![("x-secret-key", server.token.as_str()), ("host", "example.com")], 421),
    ] {
        let Err(error) = Editor::connect(&server, &headers).await else { anyhow::bail!("{headers:?}") };
        let error: tungstenite::Error = error.downcast()?;
        let tungstenite::Error::Http(response) = error else { anyhow::bail!("{error}") };
        ensure!(response.status() == status, "{headers:?}: {}", response.status());
    }
    ensure!(server.request(Method::GET, "/acp").send().await?.status() == 426);

    let runner = store.create("runner", Scope::Run)?.secret;
    let mut editor = loop {
        match Editor::with_token(&server, &runner).await {
            Ok(editor) => break editor,
            // The file is read again within seconds.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    let outside = server.folder.path().canonicalize()?;
    editor.refused("session/new", json!({"cwd": outside, "mcpServers": []}), "below a root").await?;
    let program = json!([{"name": "own", "command": "sh", "args": [], "env": []}]);
    editor.refused("session/new", json!({"cwd": folder, "mcpServers": program}), "`admin`").await?;
    let session = editor.ask("session/new", json!({"cwd": folder, "mcpServers": []})).await?;
    let id = text(&session, "sessionId")?.to_owned();
    let looser = json!({"sessionId": id, "configId": "permissions", "value": "auto"});
    editor.refused("session/set_config_option", looser, "stricter").await?;
    let stricter = json!({"sessionId": id, "configId": "permissions", "value": "chat"});
    ensure!(editor.ask("session/set_config_option", stricter).await?["configOptions"].is_array());
    editor.refused("session/delete", json!({"sessionId": id}), "`admin`").await?;

    // Revoking the token ends the connection.
    store.revoke("runner")?;
    let ended = async { while let Some(Ok(_)) = editor.socket.next().await {} };
    tokio::time::timeout(LIMIT, ended).await?;
    Ok(())
}
