//! goose's own API: sessions, messages, questions, transfer, events, recipes and jobs.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose::config::Paths;
use goose_test_support::{ModelServer, Turn};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{LIMIT, TestServer, answered, parsed, text};

fn said(id: &str, text: &str) -> Value {
    json!({"id": id, "parts": [{"content": text}]})
}

async fn begun(server: &TestServer) -> anyhow::Result<String> {
    let session = server.post("/api/v1/sessions", json!({"folder": "inner", "name": "First"}), 201).await?;
    ensure!(text(&session, "folder")?.ends_with("/work/inner"), "{session}");
    Ok(format!("/api/v1/sessions/{}", text(&session, "id")?))
}

/// Reads a stream until an event fits.
async fn read_until(
    response: &mut Response,
    is_it: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<(String, Value)>> {
    let mut text = String::new();
    while !is_it(&text) {
        let chunk = tokio::time::timeout(LIMIT, response.chunk()).await??;
        text += std::str::from_utf8(&chunk.with_context(|| format!("the stream ended: {text}"))?)?;
    }
    parsed(&text)
}

fn follow(server: &TestServer, path: &str, last: Option<&str>) -> reqwest::RequestBuilder {
    let request = server.request(Method::GET, path);
    match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_begun_used_changed_copied_and_removed() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("One about herons."), Turn::text("Two.")]).await?;
    let path = begun(&server).await?;
    let run = server.post(&format!("{path}/messages"), said("m1", "Tell me"), 202).await?;
    // A retry never starts a second run.
    let again = server.post(&format!("{path}/messages"), said("m1", "Tell me"), 202).await?;
    ensure!(again["run_id"] == run["run_id"], "{again}");
    server.until(&run, "completed").await?;
    let session = server.get(&path).await?;
    ensure!(session["name"] == "First" && session["open"]["mode"] == "auto", "{session}");
    ensure!(server.model.asked().len() == 1);

    let listed = server.get("/api/v1/sessions?limit=1").await?;
    ensure!(listed["sessions"][0]["id"] == session["id"], "{listed}");
    let found = server.get("/api/v1/search?q=herons").await?;
    ensure!(found["matches"][0]["session"] == session["id"], "{found}");
    let steps = server.get(&format!("{path}/steps?after=1&limit=2")).await?;
    ensure!(steps["steps"][0]["seq"] == 2, "{steps}");

    let change =
        server.request(Method::PATCH, &path).body(json!({"name": "Birds", "mode": "approve"}).to_string());
    let changed = answered(change, StatusCode::OK).await?;
    ensure!(changed["name"] == "Birds" && changed["open"]["mode"] == "approve", "{changed}");
    let looser = server.request(Method::PATCH, &path).body(json!({"mode": "auto"}).to_string());
    answered(looser, StatusCode::FORBIDDEN).await?;

    let fork = server.post(&format!("{path}/fork"), json!({}), 201).await?;
    ensure!(fork["messages"] == session["messages"] && fork["id"] != session["id"], "{fork}");
    let export = server.get(&format!("{path}/export")).await?;
    let imported = server.post("/api/v1/import", export.clone(), 201).await?;
    ensure!(imported["messages"] == session["messages"], "{imported}");
    let mut outside = export;
    outside["session"]["working_dir"] = "/".into();
    server.post("/api/v1/import", outside, 403).await?;

    answered(server.request(Method::DELETE, &path), StatusCode::NO_CONTENT).await?;
    answered(server.request(Method::GET, &path), StatusCode::NOT_FOUND).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_outside_of_the_roots_are_refused() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    std::os::unix::fs::symlink("/", server.folder.path().join("work/link"))?;
    for folder in ["/", "..", "../work2", "link", "link/etc", "inner/../../config"] {
        let refused = server.post("/api/v1/sessions", json!({"folder": folder}), 403).await?;
        ensure!(refused["data"]["reason"] == "outside_roots", "{folder}: {refused}");
    }
    server.post("/api/v1/sessions", json!({"folder": "absent"}), 400).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_once_by_id_and_digest() -> anyhow::Result<()> {
    let turns = [Turn::call("developer__shell", json!({"command": "echo x"})), Turn::text("Done.")];
    let server = TestServer::with(ModelServer::scripted(turns)?, "approve", |_| {}).await?;
    let path = begun(&server).await?;
    let run = server.post(&format!("{path}/messages"), said("m1", "Go"), 202).await?;
    server.until(&run, "awaiting").await?;
    let listed = server.get("/api/v1/questions").await?;
    let question = &listed["questions"][0];
    let answer = |digest: &Value| {
        json!({"id": question["id"], "digest": digest,
               "answer": {"answer": "decision", "value": {"decision": "allow"}}})
    };
    server.post(&format!("{path}/answers"), answer(&"other".into()), 409).await?;
    server.post(&format!("{path}/answers"), answer(&question["digest"]), 200).await?;
    server.post(&format!("{path}/answers"), answer(&question["digest"]), 409).await?;
    server.until(&run, "completed").await?;
    ensure!(server.get("/api/v1/questions").await?["questions"] == json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_the_same_events_and_miss_none() -> anyhow::Result<()> {
    let turns = [Turn::text("One."), Turn::text("Two."), Turn::text("Three.")];
    let server = TestServer::new(turns).await?;
    let path = begun(&server).await?;
    let events = format!("{path}/events");
    let mut first = follow(&server, &events, None).send().await?;
    let mut second =
        follow(&server, &format!("/api/v1/events?sessions={}", &path[17..]), None).send().await?;
    ensure!(read_until(&mut first, |text| text.contains("hello")).await?[0].1["sessions"][0].is_object());
    read_until(&mut second, |text| text.contains("hello")).await?;
    let ended = |text: &str| text.contains("\"event\":\"finished\"") && text.ends_with("\n\n");
    let run = server.post(&format!("{path}/messages"), said("m1", "Begin"), 202).await?;
    let one = read_until(&mut first, ended).await?;
    ensure!(read_until(&mut second, ended).await? == one);
    let last = one.last().context("events")?.0.clone();
    drop((first, second));

    // Something happens while the reader is away; also after a restart, it misses nothing.
    server.until(&run, "completed").await?;
    let run = server.post(&format!("{path}/messages"), said("m2", "Go on"), 202).await?;
    server.until(&run, "completed").await?;
    let server = server.restarted().await?;
    let mut back = follow(&server, &events, Some(&last)).send().await?;
    let missed = read_until(&mut back, ended).await?;
    let texts = |events: &[(String, Value)]| {
        let texts = events.iter().filter(|(_, event)| event["event"] == "text");
        texts.filter_map(|(_, event)| event["data"].as_str().map(str::to_owned)).collect::<String>()
    };
    ensure!(texts(&missed) == "Two.", "{missed:?}");
    let last = missed.last().context("events")?.0.clone();
    let run = server.post(&format!("{path}/messages"), said("m3", "More"), 202).await?;
    let live = read_until(&mut back, ended).await?;
    ensure!(texts(&live) == "Three.", "{live:?}");
    server.until(&run, "completed").await?;
    let mut again = follow(&server, &events, Some(&last)).send().await?;
    ensure!(texts(&read_until(&mut again, ended).await?) == "Three.");
    answered(follow(&server, &events, Some("nonsense")), StatusCode::BAD_REQUEST).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_extensions_can_be_inspected() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("slow").after(Duration::from_secs(1))]).await?;
    let tools = server.get("/api/v1/agents/coding-agent-backend/tools").await?;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    ensure!(names.contains(&"developer__shell"), "{names:?}");
    ensure!(server.get("/api/v1/extensions").await?["extensions"].is_array());
    let path = begun(&server).await?;
    let extensions = server.get(&format!("{path}/extensions")).await?;
    ensure!(extensions["extensions"].as_array().is_some_and(|it| !it.is_empty()), "{extensions}");
    let off = json!({"name": "memory", "enabled": false});
    let extensions = server.post(&format!("{path}/extensions"), off, 200).await?;
    ensure!(!extensions.to_string().contains("\"name\":\"memory\""), "{extensions}");
    Ok(())
}

const TEA: &str = "title: Tea\ndescription: Makes tea\ninstructions: Be brief.\nprompt: Make {{ kind }} tea.\n\
                   settings: {goose_model: gpt-4o-mini}\n\
                   parameters:\n  - {key: kind, input_type: string, requirement: required, description: Kind}\n";

fn with_recipe(server: &TestServer, folder: &std::path::Path, name: &str, text: &str) -> anyhow::Result<()> {
    let folder = server.folder.path().join(folder);
    std::fs::create_dir_all(&folder)?;
    Ok(std::fs::write(folder.join(name), text)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn recipes_are_listed_read_and_run() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("Tea is made.")]).await?;
    let user = Paths::under(server.folder.path()).config.join("recipes");
    with_recipe(&server, &user, "tea.yaml", TEA)?;
    with_recipe(&server, &user, "broken.yaml", "title: [\n")?;
    let checks = "title: T\ndescription: D\nprompt: Go\nretry: {max_retries: 1, checks: [{type: shell, command: 'true'}]}\n";
    with_recipe(&server, &user, "checks.yaml", checks)?;
    // A project that is not trusted.
    with_recipe(&server, "work/inner/.goose/recipes".as_ref(), "theirs.yaml", TEA)?;
    with_recipe(&server, "work/inner".as_ref(), "here.yaml", TEA)?;

    let listed = server.get("/api/v1/recipes?folder=inner").await?;
    let names: Vec<&Value> =
        listed["recipes"].as_array().context("a list")?.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["broken", "checks", "tea", "theirs"], "{listed}");
    let problem = |index: usize| listed["recipes"][index]["problem"].as_str().unwrap_or_default();
    ensure!(problem(0).contains("broken.yaml:1") && problem(3).contains("trust"), "{listed}");
    ensure!(listed["recipes"][2]["parameters"][0]["key"] == "kind", "{listed}");
    let read = server.get("/api/v1/recipes/tea").await?;
    ensure!(read["recipe"]["prompt"] == "Make {{ kind }} tea.", "{read}");

    let run = json!({"folder": "inner", "parameters": {"kind": "green"}});
    let run = server.post("/api/v1/recipes/tea/runs", run, 202).await?;
    server.until(&run, "completed").await?;
    let asked = &server.model.asked()[0].body;
    ensure!(asked["model"] == "gpt-4o-mini", "{asked}");
    let text = asked.to_string();
    ensure!(text.contains("Make green tea.") && text.contains("Be brief."), "{text}");
    let sessions = server.get("/api/v1/sessions").await?;
    ensure!(sessions["sessions"][0]["name"] == "Tea", "{sessions}");

    for (path, body, status, expected) in [
        ("tea", json!({}), 400, "no value for kind"),
        ("tea", json!({"parameters": {"kind": "x", "sugar": "2"}}), 400, "no parameter 'sugar'"),
        ("tea", json!({"folder": "/", "parameters": {"kind": "x"}}), 403, "not below a root"),
        ("broken", json!({}), 400, "broken.yaml"),
        ("checks", json!({}), 400, "`retry`"),
        ("theirs", json!({"folder": "inner"}), 404, "There is no recipe"),
        ("here", json!({"folder": "inner"}), 404, "There is no recipe"),
        ("here.yaml", json!({"folder": "inner"}), 404, "There is no recipe"),
        ("..%2F..%2Fetc%2Fpasswd", json!({}), 404, "There is no recipe"),
    ] {
        let answer = server.post(&format!("/api/v1/recipes/{path}/runs"), body, status).await?;
        ensure!(answer.to_string().contains(expected), "{path}: {answer}");
    }
    assert_eq!(server.model.asked().len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_added_paused_and_removed() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let user = Paths::under(server.folder.path()).config.join("recipes");
    with_recipe(&server, &user, "tea.yaml", TEA)?;
    let job = |id: &str, cron: &str, recipe: &str, folder: &str| json!({"id": id, "cron": cron, "recipe": recipe, "folder": folder, "parameters": {"kind": "green"}});
    let added = server.post("/api/v1/schedule", job("tea", "0 9 * * *", "tea", "inner"), 201).await?;
    ensure!(added["next_at"].is_string() && added["parameters"] == json!([["kind", "green"]]), "{added}");
    for (body, status) in [
        (job("tea", "0 9 * * *", "tea", "inner"), 409),
        (job("a b", "0 9 * * *", "tea", "inner"), 400),
        (job("other", "61 * * * *", "tea", "inner"), 400),
        (job("other", "0 9 * * *", "absent", "inner"), 404),
        (job("other", "0 9 * * *", "tea", "/"), 403),
    ] {
        server.post("/api/v1/schedule", body, status).await?;
    }
    let change = |paused: bool| {
        let request = server.request(Method::PATCH, "/api/v1/schedule/tea");
        answered(request.body(json!({ "paused": paused }).to_string()), StatusCode::OK)
    };
    ensure!(change(true).await?["paused"] == true);
    let resumed = change(false).await?;
    ensure!(resumed["paused"] == false && resumed["next_at"].is_string(), "{resumed}");
    ensure!(server.get("/api/v1/schedule/tea/sessions").await?["sessions"] == json!([]));
    assert_eq!(server.get("/api/v1/schedule").await?["jobs"][0]["id"], "tea");
    answered(server.request(Method::DELETE, "/api/v1/schedule/tea"), StatusCode::NO_CONTENT).await?;
    answered(server.request(Method::DELETE, "/api/v1/schedule/tea"), StatusCode::NOT_FOUND).await?;
    ensure!(server.get("/api/v1/schedule").await?["jobs"] == json!([]));
    Ok(())
}
