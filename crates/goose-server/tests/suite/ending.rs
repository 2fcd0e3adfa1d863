//! The end of a server: runs get some time, streams end, sessions stay whole.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;

use crate::support::{TestServer, run_body, text};

/// Open streams when the server is stopped.
const STREAMS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_do_not_delay_the_end() -> anyhow::Result<()> {
    let model = ModelServer::answering(|_| Turn::text("late").after(Duration::from_secs(300)))?;
    let mut server =
        TestServer::with(model, "auto", |options| options.drain = Duration::from_millis(200)).await?;
    let run = server.run("async", "Wait", None).await?;
    let path = format!("/runs/{}/events", text(&run, "run_id")?);
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let request = server.request(Method::GET, &path).header("accept", "text/event-stream");
        let mut response = request.send().await?;
        ensure!(response.chunk().await?.is_some());
        streams.push(response);
    }
    let started = Instant::now();
    server.server.take().context("it runs")?.shutdown().await;
    // Generous for a busy machine; the limits add up to 1.2 s.
    ensure!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
    for mut stream in streams {
        while stream.chunk().await?.is_some() {}
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_gets_time_to_end() -> anyhow::Result<()> {
    let model = ModelServer::answering(|_| Turn::text("In time.").after(Duration::from_millis(300)))?;
    let server = TestServer::with(model, "auto", |options| options.drain = Duration::from_secs(20)).await?;
    let run = server.run("async", "Go", None).await?;
    let server = server.restarted().await?;
    let read = server.get(&format!("/runs/{}", text(&run, "run_id")?)).await?;
    ensure!(
        read["status"] == "completed" && read["output"][0]["parts"][0]["content"] == "In time.",
        "{read}"
    );
    // Nothing new begins while a server stops, and the next one continues.
    ensure!(server.post("/runs", run_body("sync", "More", None), 200).await?["status"] == "completed");
    Ok(())
}
