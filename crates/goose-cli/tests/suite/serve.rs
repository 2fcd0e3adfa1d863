//! `goose serve` and `goosed` as programs: first start, tokens, signals, kill -9, and sessions shared with the terminal.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Home;

/// Time limit of everything.
const LIMIT: Duration = Duration::from_secs(60);

/// A server as a process of its own. It is killed when this is dropped.
struct Served {
    child: Child,
    url: String,
    token: Option<String>,
    client: reqwest::Client,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_model<'a>(command: &'a mut Command, model: &ModelServer) -> &'a mut Command {
    command.env("OPENAI_HOST", model.url()).env("OPENAI_API_KEY", "test").env("GOOSE_DISABLE_KEYRING", "1");
    command.env("GOOSE_PROVIDER", "openai").env("GOOSE_MODEL", "gpt-4")
}

impl Served {
    fn start(home: &Home, model: &ModelServer, token: Option<&str>) -> anyhow::Result<Self> {
        let mut command = home.goose(&["serve", "--port", "0"]);
        let mut child = with_model(&mut command, model).stdout(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("its errors are ours")?);
        let (mut url, mut token) = (None, token.map(str::to_owned));
        while url.is_none() || token.is_none() {
            let mut line = String::new();
            ensure!(lines.read_line(&mut line)? > 0, "the server ended: {:?}", child.wait());
            url = url.or(line.split_once("serves at ").map(|(_, url)| url.trim().to_owned()));
            token = token.or(Some(line.trim()).filter(|line| line.starts_with("goose_")).map(str::to_owned));
        }
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().timeout(LIMIT).build()?;
        Ok(Self { child, url: url.unwrap_or_default(), token, client })
    }

    async fn json(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let token = self.token.as_deref().unwrap_or_default();
        let request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(token);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        Ok(serde_json::from_str(&request.body(body).send().await?.text().await?)?)
    }

    fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.child.id().to_string();
        ensure!(Command::new("kill").args(["-s", name, &pid]).status()?.success());
        Ok(())
    }
}

fn run(mode: &str, text: &str) -> Option<Value> {
    Some(json!({
        "agent_name": "goose-agent-assistant", "mode": mode,
        "input": [{"role": "user", "parts": [{"content": text}]}],
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_kill_cut_off_is_read_again() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::text("Before."),
        Turn::text("late").after(Duration::from_secs(300)),
        Turn::text("After."),
    ])?;
    let mut server = Served::start(&home, &model, None)?;
    let before = server.json(Method::POST, "/runs", run("sync", "Begin")).await?;
    ensure!(before["status"] == "completed", "{before}");
    let cut = server.json(Method::POST, "/runs", run("async", "Wait")).await?;
    let started = Instant::now();
    while model.asked().len() < 2 {
        ensure!(started.elapsed() < LIMIT, "the model was not asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("KILL")?;
    server.child.wait()?;

    let server = Served::start(&home, &model, server.token.as_deref())?;
    let path = |run: &Value| format!("/runs/{}", run["run_id"].as_str().unwrap_or_default());
    let read = server.json(Method::GET, &path(&before), None).await?;
    ensure!(read["output"][0]["parts"] == before["output"][0]["parts"], "{read}");
    let read = server.json(Method::GET, &path(&cut), None).await?;
    ensure!(read["status"] == "failed" && read["session_id"] == cut["session_id"], "{read}");
    let events = server.json(Method::GET, &format!("{}/events", path(&cut)), None).await?;
    ensure!(
        events["events"].as_array().and_then(|it| it.last()).is_some_and(|it| it["type"] == "run.failed"),
        "{events}"
    );
    let mut next = run("sync", "Go on").context("a body")?;
    next["session_id"] = cut["session_id"].clone();
    let next = server.json(Method::POST, "/runs", Some(next)).await?;
    ensure!(next["output"][0]["parts"][0]["content"] == "After.", "{next}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_from_the_terminal_to_the_server_and_back() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted(["One.", "Two.", "Three."].map(Turn::text))?;
    let in_terminal = |arguments: &[&str]| {
        let output = with_model(&mut home.goose(arguments), &model).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    in_terminal(&["run", "--name", "shared", "-t", "Begin"])?;
    let mut server = Served::start(&home, &model, None)?;
    let listed = server.json(Method::GET, "/api/v1/sessions", None).await?;
    let session = &listed["sessions"][0];
    ensure!(session["name"] == "shared" && session["messages"] == 2, "{listed}");
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().context("an id")?);
    let message = json!({"id": "m1", "parts": [{"content": "Go on"}]});
    let run = server.json(Method::POST, &format!("{path}/messages"), Some(message)).await?;
    let run = format!("/runs/{}", run["run_id"].as_str().with_context(|| format!("{run}"))?);
    let started = Instant::now();
    while server.json(Method::GET, &run, None).await?["status"] != "completed" {
        ensure!(started.elapsed() < LIMIT, "the run does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("TERM")?;
    let ended = server.child.wait()?;
    ensure!(ended.success(), "{ended}");
    ensure!(in_terminal(&["run", "--resume", "--name", "shared", "-t", "Finish"])?.contains("Three."));
    ensure!(model.asked().last().is_some_and(|asked| asked.body.to_string().contains("Two.")));
    Ok(())
}

#[test]
fn tokens_are_made_listed_and_revoked() -> anyhow::Result<()> {
    let home = Home::new()?;
    let new = home.run(&["serve", "token", "new", "--name", "laptop", "--scope", "read"])?;
    ensure!(new.code == Some(0) && new.stdout.starts_with("goose_"), "{new:?}");
    let listed = home.run(&["serve", "token", "list", "--json"])?.json()?;
    ensure!(listed[0]["name"] == "laptop" && listed[0]["scope"] == "read", "{listed}");
    ensure!(!listed.to_string().contains(new.stdout.trim()));
    ensure!(home.run(&["serve", "token", "new", "--name", "laptop"])?.code == Some(1), "names are unique");
    ensure!(home.run(&["serve", "token", "revoke", "laptop"])?.code == Some(0));
    let missing = home.run(&["serve", "token", "revoke", "laptop"])?;
    ensure!(missing.code == Some(1) && missing.stderr.contains("goose serve token list"), "{missing:?}");
    Ok(())
}

#[test]
fn goosed_is_goose_serve() -> anyhow::Result<()> {
    let home = Home::new()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_goosed"));
    let output = command.args(["token", "list"]).env("GOOSE_PATH_ROOT", home.path()).output()?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && text.contains("There are no tokens"), "{text}");
    Ok(())
}
