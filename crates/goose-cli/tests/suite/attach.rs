//! `goose session` on a session that a server has open: the reply of another client is followed and its question
//! answered, messages are sent, and the end of the server is seen.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    serve::{Served, with_model},
    support::Home,
    talk::{at_terminal, prompted, say, shell},
};

const LIMIT: Duration = Duration::from_secs(30);

/// Begins a session in the server. Returns its id and its path.
async fn begun(server: &Served) -> anyhow::Result<(String, String)> {
    let session = server.json(Method::POST, "/api/v1/sessions", Some(json!({"name": "shared"}))).await?;
    let id = session["id"].as_str().with_context(|| format!("{session}"))?.to_owned();
    let path = format!("/api/v1/sessions/{id}");
    Ok((id, path))
}

/// Waits until the session's state is as expected.
async fn until(server: &Served, path: &str, is_it: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let session = server.json(Method::GET, path, None).await?;
        if is_it(&session["open"]) {
            return Ok(());
        }
        ensure!(started.elapsed() < LIMIT, "{session}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_follows_a_run_of_a_server_and_answers_its_question() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted([
        Turn::text("Before."),
        shell("touch made"),
        Turn::text("Made."),
        Turn::text("From the terminal."),
        Turn::text("From elsewhere."),
    ])?;
    let server = Served::start_in(&home, &model, None, "approve")?;
    let (id, path) = begun(&server).await?;
    server.say(&path, "m1").await?;
    until(&server, &path, |open| open["is_running"] == false).await?;
    server.say(&path, "m2").await?;
    until(&server, &path, |open| open["questions"] == 1).await?;

    let mut terminal = at_terminal(&home, &model, "approve", &["session", "--session-id", &id])?;
    terminal.wait_for("Allow it?")?;
    let screen = terminal.screen();
    ensure!(screen.contains("in a goose server") && screen.contains("Before."), "{screen}");
    ensure!(screen.contains("touch made"), "{screen}");
    terminal.send("y\r")?;
    terminal.wait_for("Made.")?;
    ensure!(home.path().join("made").exists());
    say(&terminal, "And now?", "From the terminal.")?;
    ensure!(model.asked().last().and_then(|it| it.last_user_text()).is_some_and(|it| it == "And now?"));

    // A reply that another client begins is shown after the next line.
    server.say(&path, "m3").await?;
    until(&server, &path, |open| open["is_running"] == false).await?;
    terminal.send("/compact\r")?;
    terminal.wait_for("not available here")?;
    terminal.wait_for("From elsewhere.")?;
    prompted(&terminal)?;
    terminal.send("/exit\r")?;
    ensure!(terminal.wait()?.code() == Some(0));
    until(&server, &path, |open| open["is_running"] == false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_reply_ends_in_the_server() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model =
        ModelServer::scripted([Turn::text("One."), Turn::text("late").after(Duration::from_secs(300))])?;
    let mut server = Served::start(&home, &model, None)?;
    let (id, path) = begun(&server).await?;
    server.say(&path, "m1").await?;
    until(&server, &path, |open| open["is_running"] == false).await?;
    let mut terminal = at_terminal(&home, &model, "auto", &["session", "--session-id", &id])?;
    prompted(&terminal)?;
    terminal.send("Wait\r")?;
    until(&server, &path, |open| open["is_running"] == true).await?;
    terminal.wait_for("thinking")?;
    terminal.send("\x03")?;
    terminal.wait_for("Cancelled.")?;
    until(&server, &path, |open| open["is_running"] == false).await?;
    prompted(&terminal)?;
    server.signal("TERM")?;
    terminal.wait_for("The goose server has ended")?;
    ensure!(terminal.wait()?.code() == Some(0));
    ensure!(server.child.wait()?.success());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_pipe_are_sent_to_the_server() -> anyhow::Result<()> {
    let home = Home::new()?;
    let model = ModelServer::scripted(["One.", "Two.", "Three."].map(Turn::text))?;
    let mut server = Served::start(&home, &model, None)?;
    let (id, path) = begun(&server).await?;
    server.say(&path, "m1").await?;
    until(&server, &path, |open| open["is_running"] == false).await?;
    let resumed = || {
        let mut command = home.goose(&["session", "--session-id", &id]);
        let mut child = with_model(&mut command, &model).stdin(std::process::Stdio::piped()).spawn()?;
        std::io::Write::write_all(&mut child.stdin.take().context("its input is ours")?, b"Go on\n")?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    };
    ensure!(resumed()?.contains("Two."));
    let steps = server.json(Method::GET, &format!("{path}/steps"), None).await?.to_string();
    ensure!(steps.contains("Two."), "{steps}");
    // Without the server, the session is opened as usual.
    server.signal("TERM")?;
    ensure!(server.child.wait()?.success());
    ensure!(resumed()?.contains("Three."));
    Ok(())
}
