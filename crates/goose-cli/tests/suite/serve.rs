//! `goose serve` and `goosed` as programs: first start, tokens, signals, kill -9, and sessions shared with the
//! terminal.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{acp::Editor, support::Home};

/// Time limit of everything.
const LIMIT: Duration = Duration::from_secs(60);

/// A server as a process of its own. It is killed when this is dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
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

pub(crate) fn with_model<'a>(command: &'a mut Command, model: &ModelServer) -> &'a mut Command {
    command.env("OPENAI_HOST", model.url()).env("OPENAI_API_KEY", "test").env("GOOSE_DISABLE_KEYRING", "1");
    command.env("GOOSE_PROVIDER", "openai").env("GOOSE_MODEL", "gpt-4")
}

impl Served {
    pub(crate) fn start(home: &Home, model: &ModelServer, token: Option<&str>) -> anyhow::Result<Self> {
        Self::start_in(home, model, token, "auto")
    }

    pub(crate) fn start_in(
        home: &Home,
        model: &ModelServer,
        token: Option<&str>,
        mode: &str,
    ) -> anyhow::Result<Self> {
        let mut command = home.goose(&["serve", "--port", "0"]);
        command.env("GOOSE_MODE", mode);
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

    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let token = self.token.as_deref().unwrap_or_default();
        let request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(token);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        Ok(serde_json::from_str(&request.body(body).send().await?.text().await?)?)
    }

    pub(crate) fn signal(&self, name: &str) -> anyhow::Result<()> {
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

/// A session that is begun in the terminal is continued in an editor and read over REST; one that is begun over REST is
/// continued in an editor, and then in the terminal.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_through_terminal_editor_and_server() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().canonicalize()?;
    let model = ModelServer::scripted(["T1.", "E1.", "R2.", "E2.", "T2."].map(Turn::text))?;
    let in_terminal = |arguments: &[&str]| {
        let output = with_model(home.goose(arguments).current_dir(&folder), &model).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    let in_editor = |id: &Value| {
        let mut editor = Editor::start(&home, &model, &[])?;
        editor.ask("session/load", json!({"sessionId": id, "cwd": folder, "mcpServers": []}))?;
        ensure!(editor.prompt(id, "In the editor")? == "end_turn");
        editor.leave()
    };
    in_terminal(&["run", "--name", "first", "-t", "In the terminal"])?;
    let listed = home.run(&["session", "list", "--json"])?.json()?;
    let id = listed["sessions"][0]["id"].clone();
    in_editor(&id)?;

    let server = Served::start(&home, &model, None)?;
    let path = |id: &Value| format!("/api/v1/sessions/{}", id.as_str().unwrap_or_default());
    let said =
        |steps: &Value| ["T1.", "E1.", "R2.", "E2.", "T2."].map(|text| steps.to_string().contains(text));
    let steps = server.json(Method::GET, &format!("{}/steps", path(&id)), None).await?;
    ensure!(said(&steps) == [true, true, false, false, false], "{steps}");
    let mut reader = server.events(&path(&id), None).await?;
    let mut events = events_until(&mut reader, is_finished).await?;
    events.extend(events_until(&mut reader, is_finished).await?);
    ensure!(texts(&events) == "T1.E1.", "{events:?}");

    let begun = server.json(Method::POST, "/api/v1/sessions", Some(json!({"name": "second"}))).await?;
    let id = begun["id"].clone();
    let mut reader = server.events(&path(&id), None).await?;
    server.say(&path(&id), "m1").await?;
    events_until(&mut reader, is_finished).await?;
    drop((reader, server));
    in_editor(&id)?;
    in_terminal(&["run", "--resume", "--name", "second", "-t", "In the terminal"])?;
    let asked = model.asked().last().context("it was asked")?.body.to_string();
    ensure!(asked.contains("R2.") && asked.contains("E2.") && !asked.contains("T1."), "{asked}");
    Ok(())
}

/// Reads a stream of events, until one fits. Returns the ids and data of the events of goose.
async fn events_until(
    response: &mut reqwest::Response,
    is_last: impl Fn(&Value) -> bool,
) -> anyhow::Result<Vec<(String, Value)>> {
    let (mut text, mut events) = (String::new(), Vec::new());
    loop {
        let chunk = response.chunk().await?.context("the stream ended")?;
        text += std::str::from_utf8(&chunk)?;
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field =
                |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let (Some("event"), Some(id), Some(data)) =
                (field("event: ").as_deref(), field("id: "), field("data: "))
            {
                events.push((id, serde_json::from_str(&data)?));
            }
            text = rest.to_owned();
        }
        if events.last().is_some_and(|(_, event)| is_last(event)) {
            return Ok(events);
        }
    }
}

impl Served {
    async fn events(&self, path: &str, last: Option<&str>) -> anyhow::Result<reqwest::Response> {
        let token = self.token.as_deref().unwrap_or_default();
        let request = self.client.get(format!("{}{path}/events", self.url)).bearer_auth(token);
        let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
        Ok(request.send().await?.error_for_status()?)
    }

    pub(crate) async fn say(&self, path: &str, id: &str) -> anyhow::Result<Value> {
        let message = json!({"id": id, "parts": [{"content": "Go on"}]});
        self.json(Method::POST, &format!("{path}/messages"), Some(message)).await
    }
}

fn is_finished(event: &Value) -> bool {
    event["event"] == "finished"
}

/// The texts of the answers in events.
fn texts(events: &[(String, Value)]) -> String {
    let texts = events.iter().filter(|(_, event)| event["event"] == "text");
    texts.filter_map(|(_, event)| event["data"].as_str()).collect()
}

/// Two readers see the same. One that comes back with its last number after kill -9 gets what the server stored after
/// it, and what follows in the next process, each event once.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_misses_nothing_when_the_server_is_killed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::text("One."),
        Turn::text("Two."),
        Turn::text("late").after(Duration::from_secs(300)),
        Turn::text("Four."),
    ])?;
    let mut server = Served::start(&home, &model, None)?;
    let session = server.json(Method::POST, "/api/v1/sessions", Some(json!({}))).await?;
    let path = format!("/api/v1/sessions/{}", session["id"].as_str().with_context(|| format!("{session}"))?);
    let (mut reader, mut other) = (server.events(&path, None).await?, server.events(&path, None).await?);
    server.say(&path, "m1").await?;
    let one = events_until(&mut reader, is_finished).await?;
    ensure!(texts(&one) == "One." && events_until(&mut other, is_finished).await? == one, "{one:?}");
    let last = one.last().context("events")?.0.clone();
    drop(reader);

    // The reader is away; the other one follows to the moment of the kill.
    server.say(&path, "m2").await?;
    let two = events_until(&mut other, is_finished).await?;
    ensure!(texts(&two) == "Two.", "{two:?}");
    server.say(&path, "m3").await?;
    let started = Instant::now();
    while model.asked().len() < 3 {
        ensure!(started.elapsed() < LIMIT, "the model was not asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("KILL")?;
    server.child.wait()?;

    let server = Served::start(&home, &model, server.token.as_deref())?;
    let mut back = server.events(&path, Some(&last)).await?;
    let missed = events_until(&mut back, is_finished).await?;
    let named = |events: &[(String, Value)], name: &str| {
        events.iter().filter(|(_, event)| event["event"] == name).count()
    };
    ensure!(texts(&missed) == "Two." && named(&missed, "finished") == 1, "{missed:?}");
    server.say(&path, "m4").await?;
    let rest =
        events_until(&mut back, |event| is_finished(event) && event["data"].to_string().contains("done"))
            .await?;
    ensure!(texts(&rest) == "Four.", "{rest:?}");
    let mut again = server.events(&path, None).await?;
    let mut all = Vec::new();
    while !texts(&all).contains("Four.") {
        all.extend(events_until(&mut again, |event| event["event"] == "text").await?);
    }
    ensure!(texts(&all) == "One.Two.Four.", "{all:?}");
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
