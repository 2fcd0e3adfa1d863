//! A2A in both versions.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{TestServer, parsed, text};

/// Names of the two versions.
struct Version {
    send: &'static str,
    stream: &'static str,
    get: &'static str,
    cancel: &'static str,
    completed: &'static str,
    input_required: &'static str,
    canceled: &'static str,
    /// Field of an answer that has the task.
    task: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        send: "SendMessage",
        stream: "SendStreamingMessage",
        get: "GetTask",
        cancel: "CancelTask",
        completed: "TASK_STATE_COMPLETED",
        input_required: "TASK_STATE_INPUT_REQUIRED",
        canceled: "TASK_STATE_CANCELED",
        task: "/task",
    },
    Version {
        send: "message/send",
        stream: "message/stream",
        get: "tasks/get",
        cancel: "tasks/cancel",
        completed: "completed",
        input_required: "input-required",
        canceled: "canceled",
        task: "",
    },
];

async fn call(server: &TestServer, method: &str, params: Value) -> anyhow::Result<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let mut answer = server.post("/a2a", body, 200).await?;
    ensure!(answer["id"] == 7, "{answer}");
    match answer["error"].take() {
        Value::Null => Ok(answer["result"].take()),
        error => Ok(json!({ "error": error })),
    }
}

fn message(id: &str, text: &str, task: Option<&str>) -> Value {
    let mut message = json!({"messageId": id, "role": "user", "parts": [{"kind": "text", "text": text}]});
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message })
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_sent_streamed_asked_and_cancelled() -> anyhow::Result<()> {
    for version in VERSIONS {
        let turns = [
            Turn::text("One."),
            Turn::text("Two."),
            Turn::call("developer__shell", json!({"command": "echo x"})),
            Turn::text("Three."),
            Turn::call("developer__shell", json!({"command": "echo y"})),
            Turn::text("late").after(Duration::from_secs(60)),
        ];
        let server = TestServer::with(ModelServer::scripted(turns)?, "approve", |_| {}).await?;
        let sent = call(&server, version.send, message("m1", "Begin", None)).await?;
        let task = sent.pointer(version.task).with_context(|| format!("{sent}"))?;
        ensure!(task["status"]["state"] == version.completed, "{task}");
        ensure!(task["artifacts"][0]["parts"][0]["text"] == "One.", "{task}");
        let got = call(&server, version.get, json!({"id": task["id"]})).await?;
        ensure!(got["status"]["state"] == version.completed && got["id"] == task["id"], "{got}");

        let body = json!({"jsonrpc": "2.0", "id": 1, "method": version.stream, "params": message("m2", "Go on", None)});
        let stream = server.request(Method::POST, "/a2a").body(body.to_string()).send().await?.text().await?;
        let events = parsed(&stream)?;
        ensure!(stream.contains("Two.") && events[0].1["result"].pointer(version.task).is_some(), "{stream}");
        ensure!(events.last().context("events")?.1.to_string().contains(version.completed), "{stream}");

        let asked = call(&server, version.send, message("m3", "Run it", None)).await?;
        let task = asked.pointer(version.task).with_context(|| format!("{asked}"))?;
        ensure!(task["status"]["state"] == version.input_required, "{task}");
        ensure!(
            task["status"]["message"]["parts"][0]["text"].as_str().is_some_and(|it| it.contains("echo x")),
            "{task}"
        );
        let answered = call(&server, version.send, message("m4", "allow", task["id"].as_str())).await?;
        let task = answered.pointer(version.task).with_context(|| format!("{answered}"))?;
        ensure!(task["status"]["state"] == version.completed, "{task}");

        let asked = call(&server, version.send, message("m5", "Run it", None)).await?;
        let id = json!({"id": asked.pointer(version.task).map(|task| task["id"].clone())});
        let cancelled = call(&server, version.cancel, id.clone()).await?;
        ensure!(cancelled["status"]["state"] == version.canceled, "{cancelled}");
        ensure!(call(&server, version.cancel, id).await?["error"]["code"] == -32_002);
        ensure!(call(&server, version.get, json!({"id": "nothing"})).await?["error"]["code"] == -32_001);
        ensure!(call(&server, "nothing", json!({})).await?["error"]["code"] == -32_601);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_listed_in_pages() -> anyhow::Result<()> {
    let server = TestServer::new(["One.", "Two.", "Three."].map(Turn::text)).await?;
    let mut contexts = Vec::new();
    for number in 1..=3 {
        let sent = call(&server, "SendMessage", message(&format!("m{number}"), "Begin", None)).await?;
        contexts.push(sent["task"]["contextId"].clone());
    }
    let first = call(&server, "ListTasks", json!({"pageSize": 2, "includeArtifacts": true})).await?;
    ensure!(first["totalSize"] == 3 && first["pageSize"] == 2, "{first}");
    ensure!(
        first["tasks"][0]["contextId"] == contexts[2]
            && first["tasks"].as_array().is_some_and(|it| it.len() == 2),
        "{first}"
    );
    ensure!(first["tasks"][1]["artifacts"][0]["parts"][0]["text"] == "Two.", "{first}");
    let rest = json!({"pageSize": 2, "pageToken": first["nextPageToken"]});
    let rest = call(&server, "ListTasks", rest).await?;
    ensure!(rest["tasks"][0]["contextId"] == contexts[0] && rest["nextPageToken"] == "", "{rest}");
    ensure!(rest["tasks"][0].get("artifacts").is_none(), "{rest}");
    let failed = call(&server, "ListTasks", json!({"status": "TASK_STATE_FAILED"})).await?;
    ensure!(failed["tasks"] == json!([]), "{failed}");
    for wrong in [json!({"pageSize": 101}), json!({"pageSize": "x"}), json!({"pageToken": "x"})] {
        ensure!(call(&server, "ListTasks", wrong).await?["error"]["code"] == -32_602);
    }
    // A context is read from the store, also after a restart.
    let server = server.restarted().await?;
    let all = call(&server, "ListTasks", json!({})).await?;
    ensure!(all["totalSize"] == 0, "{all}");
    let one = call(&server, "ListTasks", json!({"contextId": contexts[1]})).await?;
    ensure!(one["totalSize"] == 1 && one["tasks"][0]["status"]["state"] == "TASK_STATE_COMPLETED", "{one}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_card_is_open_and_lists_the_agents() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let card: Value = serde_json::from_str(
        &server
            .client
            .get(format!("{}/.well-known/agent-card.json", server.url))
            .send()
            .await?
            .text()
            .await?,
    )?;
    ensure!(
        text(&card, "url")? == format!("{}/a2a", server.url)
            && card["supportedInterfaces"][0]["url"] == card["url"]
    );
    let skills = card["skills"].as_array().context("a list")?;
    ensure!(skills.iter().any(|skill| skill["id"] == "coding-agent-backend"), "{card}");
    let extended = call(&server, "GetExtendedAgentCard", json!({})).await?;
    ensure!(extended["skills"].as_array().is_some_and(|it| it.len() >= skills.len()), "{extended}");
    Ok(())
}
