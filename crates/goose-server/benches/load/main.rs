//! What many runs at once, and many stored sessions, cost a server:
//!
//! ```text
//! cargo bench -p goose-server --bench load [-- RUNS SECONDS SESSIONS]
//! ```
//!
//! A model on loopback writes a word every 100 ms, which is the time at which it was written, so that each event tells
//! its age when it arrives. Server, model and clients share one process: memory for a run is an upper bound.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use futures::future::join_all;
use goose::{
    agent_manager::AgentManager,
    config::{BaseEnvironment, Paths, Settings, SettingsSource},
    session::{NewSession, SessionStore, Step},
};
use goose_extension::Message;
use goose_server::{Server, ServerOptions};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

/// Interval of the words of the model.
const INTERVAL: Duration = Duration::from_millis(100);
/// Runs of the comparison.
const FEW: usize = 10;
/// Starts of which the fastest counts.
const STARTS: usize = 5;

fn main() -> anyhow::Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |at: usize, default: u64| numbers.get(at).copied().unwrap_or(default);
    let (runs, seconds, sessions) = (number(0, 500), number(1, 20), number(2, 10_000));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let words = seconds * 10;
        let few = load(FEW, words).await?;
        let many = load(usize::try_from(runs)?, words).await?;
        println!("{FEW} runs:  {few}");
        println!("{runs} runs: {many}");
        println!(
            "99th percentile: {:.1} times that of {FEW} runs",
            many.p99.as_secs_f64() / few.p99.as_secs_f64()
        );
        let (empty, empty_kb) = start(0).await?;
        let (full, full_kb) = start(sessions).await?;
        let share = |one: f64, two: f64| 100.0 * (two / one - 1.0);
        println!(
            "start with {sessions} sessions: {full:.1?}, {:+.1} % of {empty:.1?} with none; memory {:+.1} %",
            share(empty.as_secs_f64(), full.as_secs_f64()),
            share(empty_kb, full_kb)
        );
        Ok(())
    })
}

/// Figures of one load.
struct Figures {
    events: usize,
    p50: Duration,
    p99: Duration,
    /// Memory for a run, in kilobytes.
    kilobytes: f64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { events, p50, p99, kilobytes } = self;
        write!(
            f,
            "{events} events, latency {p50:.1?} (median), {p99:.1?} (99th percentile), {kilobytes:.0} kB a run"
        )
    }
}

/// Runs an agent several times at once and reads all events. Any error fails the benchmark.
async fn load(runs: usize, words: u64) -> anyhow::Result<Figures> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let model = format!("http://{}", listener.local_addr()?);
    let began = Instant::now();
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, words, began));
        }
    });
    let folder = tempfile::tempdir()?;
    let server = serve(folder.path(), &model).await?;
    let token = server.first_token().context("a token")?.secret.clone();
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().build()?;
    let before = resident()?;
    let read = (0..runs).map(|_| read_run(&client, server.url(), &token, began));
    let watch = async {
        tokio::time::sleep(INTERVAL * u32::try_from(words)? * 3 / 4).await;
        resident()
    };
    let (read, during) = tokio::join!(join_all(read), watch);
    let mut ages = Vec::new();
    for read in read {
        ages.extend(read?);
    }
    ensure!(ages.len() >= runs, "events are missing");
    ages.sort_unstable();
    let at = |share: f64| ages[((ages.len() - 1) as f64 * share) as usize];
    let figures = Figures {
        events: ages.len(),
        p50: at(0.5),
        p99: at(0.99),
        kilobytes: (during? - before).max(0.0) / runs as f64,
    };
    server.shutdown().await;
    serving.abort();
    Ok(figures)
}

/// Reads the events of one run. Returns the age of each word.
async fn read_run(
    client: &reqwest::Client,
    url: String,
    token: &str,
    began: Instant,
) -> anyhow::Result<Vec<Duration>> {
    let body = json!({
        "agent_name": "goose-agent-assistant", "mode": "stream",
        "input": [{"role": "user", "parts": [{"content": "Tell the time"}]}],
    });
    let request = client.post(format!("{url}/runs")).bearer_auth(token).body(body.to_string());
    let mut response = request.send().await?.error_for_status()?;
    let (mut ages, mut rest) = (Vec::new(), String::new());
    let mut is_complete = false;
    while let Some(chunk) = response.chunk().await? {
        rest += std::str::from_utf8(&chunk)?;
        while let Some((event, tail)) = rest.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let event: Value = data.map(serde_json::from_str).transpose()?.unwrap_or_default();
            let text = event.pointer("/part/content").and_then(Value::as_str);
            // Words that were joined have the age of the first.
            if let Some(written) = text.and_then(|text| text.split_whitespace().next()?.parse().ok()) {
                ages.push(began.elapsed().saturating_sub(Duration::from_micros(written)));
            }
            is_complete |= event["type"] == "run.completed";
            rest = tail.to_owned();
        }
    }
    ensure!(is_complete, "a run did not complete");
    Ok(ages)
}

/// Answers requests for a model with words, one at each interval.
async fn answer(stream: TcpStream, words: u64, began: Instant) -> anyhow::Result<()> {
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut ticks = tokio::time::interval(INTERVAL);
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "1", "object": "chat.completion.chunk", "choices": [choice]}))
    };
    for _ in 0..words {
        ticks.tick().await;
        let word = format!("{} ", began.elapsed().as_micros());
        stream.write_all(chunk(json!({"content": word}), Value::Null).as_bytes()).await?;
    }
    stream.write_all(chunk(json!({}), json!("stop")).as_bytes()).await?;
    stream.write_all(b"data: [DONE]\n\n").await?;
    Ok(())
}

async fn serve(folder: &Path, model: &str) -> anyhow::Result<Server> {
    let paths = Paths::under(folder);
    let work = folder.join("work");
    std::fs::create_dir_all(&work)?;
    let variables = [
        ("HOME", folder.to_str().context("a path")?),
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_HOST", model),
        ("OPENAI_API_KEY", "test"),
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "gpt-4"),
        ("GOOSE_DISABLE_KEYRING", "1"),
    ];
    let source = SettingsSource::new(paths.clone()).with_environment(variables);
    let environment: BaseEnvironment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let manager = AgentManager::new(Settings::load(source.with_builtins(goose_mcp::BUILTINS))?);
    let mut options = ServerOptions::new(&paths, work);
    options.port = 0;
    Ok(Server::start(manager.with_environment(environment), None, Vec::new(), options).await?)
}

/// Starts a server on a store with sessions, until it answers. Returns the shortest time, and the memory in kilobytes.
async fn start(sessions: u64) -> anyhow::Result<(Duration, f64)> {
    let folder = tempfile::tempdir()?;
    let store = SessionStore::at(SessionStore::file(&Paths::under(folder.path())));
    for number in 0..sessions {
        let session = store.create(NewSession::in_folder(folder.path().join("work"))).await?;
        session.append(&Step::Message { message: Message::user(format!("Message {number}")) }).await?;
    }
    store.close().await?;
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().build()?;
    let mut shortest = Duration::MAX;
    for _ in 0..STARTS {
        let started = Instant::now();
        let server = serve(folder.path(), "http://127.0.0.1:9").await?;
        ensure!(client.get(format!("{}/readyz", server.url())).send().await?.status() == 200);
        shortest = shortest.min(started.elapsed());
        server.shutdown().await;
    }
    Ok((shortest, resident()?))
}

/// Returns the resident memory of this process in kilobytes.
fn resident() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("memory")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
