//! A server in a folder of its own, and a client for it.

use std::{sync::Once, time::Duration};

use anyhow::{Context as _, ensure};
use goose::{
    agent_manager::AgentManager,
    config::{BaseEnvironment, Paths, Settings, SettingsSource},
};
use goose_server::{Server, ServerOptions};
use goose_test_support::{ModelServer, Turn};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Time limit of a request.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A running server, its model and its folder.
pub(crate) struct TestServer {
    pub(crate) folder: TempDir,
    pub(crate) server: Option<Server>,
    pub(crate) model: ModelServer,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) client: reqwest::Client,
    mode: &'static str,
}

/// Returns a client. TLS is ring's, although nothing here uses it.
pub(crate) fn client() -> anyhow::Result<reqwest::Client> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Ok(reqwest::Client::builder().tls_certs_only([]).timeout(LIMIT).no_proxy().build()?)
}

impl TestServer {
    /// Starts a server whose model says these things, in the permission mode `auto`.
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<Self> {
        Self::with(ModelServer::scripted(turns)?, "auto", |_| {}).await
    }

    pub(crate) async fn with(
        model: ModelServer,
        mode: &'static str,
        change: impl FnOnce(&mut ServerOptions),
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("work/inner"))?;
        let server = start(&folder, &model, mode, change).await?;
        let token = server.first_token().map(|token| token.secret.clone()).unwrap_or_default();
        let url = server.url();
        Ok(Self { folder, server: Some(server), model, url, token, client: client()?, mode })
    }

    /// Ends the server and starts another one in the same folder.
    pub(crate) async fn restarted(mut self) -> anyhow::Result<Self> {
        self.server.take().context("it runs")?.shutdown().await;
        let server = start(&self.folder, &self.model, self.mode, |_| {}).await?;
        self.url = server.url();
        self.server = Some(server);
        Ok(self)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// Gets a JSON document.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        answered(self.request(Method::GET, path), StatusCode::OK).await
    }

    /// Posts a JSON document, and expects a status.
    pub(crate) async fn post(&self, path: &str, body: Value, status: u16) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path).body(body.to_string());
        answered(request, StatusCode::from_u16(status)?).await
    }

    /// Runs an agent.
    pub(crate) async fn run(&self, mode: &str, text: &str, session: Option<&str>) -> anyhow::Result<Value> {
        let status = if mode == "async" { 202 } else { 200 };
        self.post("/runs", run_body(mode, text, session), status).await
    }

    /// Waits until a run has a status.
    pub(crate) async fn until(&self, run: &Value, status: &str) -> anyhow::Result<Value> {
        let path = format!("/runs/{}", text(run, "run_id")?);
        let started = std::time::Instant::now();
        loop {
            let run = self.get(&path).await?;
            if run["status"] == status {
                return Ok(run);
            }
            ensure!(started.elapsed() < LIMIT, "the run is not {status}: {run}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(crate) fn run_body(mode: &str, text: &str, session: Option<&str>) -> Value {
    let mut body = json!({
        "agent_name": "goose-agent-assistant",
        "input": [message(text)],
        "mode": mode,
    });
    if let Some(session) = session {
        body["session_id"] = session.into();
    }
    body
}

pub(crate) fn message(text: &str) -> Value {
    json!({"role": "user", "parts": [{"content_type": "text/plain", "content": text}]})
}

/// Sends a request and reads the JSON of its answer.
pub(crate) async fn answered(request: RequestBuilder, status: StatusCode) -> anyhow::Result<Value> {
    let response = request.send().await?;
    let (got, text) = (response.status(), response.text().await?);
    ensure!(got == status, "expected {status}, got {got}: {text}");
    if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
}

/// Reads all events of a stream: their ids and data.
pub(crate) async fn events(request: RequestBuilder) -> anyhow::Result<Vec<(String, Value)>> {
    let response = request.header("accept", "text/event-stream").send().await?;
    ensure!(response.status() == StatusCode::OK, "{}", response.text().await?);
    parsed(&response.text().await?)
}

pub(crate) fn parsed(text: &str) -> anyhow::Result<Vec<(String, Value)>> {
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    events.map(|event| Ok((field(event, "id: "), serde_json::from_str(&field(event, "data: "))?))).collect()
}

pub(crate) fn text<'a>(value: &'a Value, field: &str) -> anyhow::Result<&'a str> {
    value[field].as_str().with_context(|| format!("no {field} in {value}"))
}

async fn start(
    folder: &TempDir,
    model: &ModelServer,
    mode: &str,
    change: impl FnOnce(&mut ServerOptions),
) -> anyhow::Result<Server> {
    let paths = Paths::under(folder.path());
    let home = folder.path().to_string_lossy().into_owned();
    let url = model.url();
    let variables = [
        ("HOME", home.as_str()),
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_HOST", &url),
        ("OPENAI_API_KEY", "test"),
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "gpt-4"),
        ("GOOSE_MODE", mode),
        ("GOOSE_DISABLE_KEYRING", "1"),
    ];
    let source =
        SettingsSource::new(paths.clone()).with_environment(variables).with_builtins(goose_mcp::BUILTINS);
    let environment: BaseEnvironment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let manager = AgentManager::new(Settings::load(source)?).with_environment(environment);
    let mut options = ServerOptions::new(&paths, folder.path().join("work"));
    options.port = 0;
    change(&mut options);
    Ok(Server::start(manager, None, Vec::new(), options).await?)
}
