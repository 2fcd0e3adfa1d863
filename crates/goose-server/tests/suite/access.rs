//! Tokens, scopes, `Host`, `Origin` and fetch metadata, over every route of the OpenAPI document.

use std::{
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose::config::Secret;
use goose_server::{Scope, TokenStore, openapi_document};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};

use crate::support::{LIMIT, TestServer, client, run_body};

/// Routes that are open without a token.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/.well-known/agent-card.json"];

/// All routes with their method and the scope that they need.
fn routes() -> anyhow::Result<Vec<(String, String, Option<String>)>> {
    let document = openapi_document();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().context("paths")? {
        for (method, operation) in methods.as_object().context("methods")? {
            let scope = operation["x-scope"].as_str().map(str::to_owned);
            routes.push((method.to_ascii_uppercase(), path.replace(['{', '}'], "x"), scope));
        }
    }
    Ok(routes)
}

/// Sends a request as it is written, and returns the status of the answer.
async fn raw(server: &TestServer, request: &str) -> anyhow::Result<u16> {
    let address = server.server.as_ref().context("it runs")?.address();
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    status(stream).await
}

async fn status(mut stream: impl tokio::io::AsyncRead + Unpin) -> anyhow::Result<u16> {
    let mut start = [0; 12];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut start)).await??;
    Ok(std::str::from_utf8(&start[9..])?.parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_what_it_must() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let port = server.server.as_ref().context("it runs")?.address().port();
    let store = TokenStore::new(server.folder.path().join("data/server/tokens.json"));
    let revoked = store.create("revoked", Scope::Admin)?.secret;
    let reader = store.create("reader", Scope::Read)?.secret;
    let runner = store.create("runner", Scope::Run)?.secret;
    store.revoke("revoked")?;
    // Read again within seconds.
    let started = Instant::now();
    while client()?.get(format!("{}/ping", server.url)).bearer_auth(&reader).send().await?.status() != 200 {
        ensure!(started.elapsed() < LIMIT, "the new token is not accepted");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let own = format!("Host: localhost:{port}\r\n");
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    let (mut closed, mut open) = (0, 0);
    for (method, path, scope) in routes()? {
        let send = async |headers: &str| {
            let head = format!(
                "{method} {path} HTTP/1.1\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
            raw(&server, &head).await.with_context(|| format!("{method} {path}"))
        };
        let check = async |what: &str, headers: &str, expected: u16| {
            let got = send(headers).await?;
            ensure!(got == expected, "{method} {path} with {what}: expected {expected}, got {got}");
            anyhow::Ok(())
        };
        // Every route, open ones included, checks where a request comes from.
        check("a foreign Host", &format!("Host: example.com\r\n{token}"), 421).await?;
        check("a foreign port", &format!("Host: localhost:1\r\n{token}"), 421).await?;
        check("no port", &format!("Host: localhost\r\n{token}"), 421).await?;
        check("a malformed Host", &format!("Host: local host:{port}\r\n{token}"), 400).await?;
        check("a Host with a path", &format!("Host: localhost:{port}/x\r\n{token}"), 400).await?;
        check("a Host with a user", &format!("Host: a@localhost:{port}\r\n{token}"), 400).await?;
        check("an empty Host", &format!("Host:\r\n{token}"), 400).await?;
        check("two Hosts", &format!("{own}{own}{token}"), 400).await?;
        check("no Host", &token, 400).await?;
        check("a foreign Origin", &format!("{own}{token}Origin: https://example.com\r\n"), 403).await?;
        check(
            "another port's Origin",
            &format!("{own}{token}Origin: http://localhost:{}\r\n", port ^ 1),
            403,
        )
        .await?;
        check("another name's Origin", &format!("{own}{token}Origin: http://127.0.0.1:{port}\r\n"), 403)
            .await?;
        check("the null Origin", &format!("{own}{token}Origin: null\r\n"), 403).await?;
        check(
            "two Origins",
            &format!("{own}{token}Origin: http://localhost:{port}\r\nOrigin: null\r\n"),
            403,
        )
        .await?;
        check("another site", &format!("{own}{token}Sec-Fetch-Site: cross-site\r\n"), 403).await?;
        check("the same site", &format!("{own}{token}Sec-Fetch-Site: same-site\r\n"), 403).await?;
        if OPEN.contains(&path.as_str()) {
            open += 1;
            ensure!(scope.is_none(), "{path} is open");
            check("no token", &own, 200).await?;
            continue;
        }
        closed += 1;
        check("no token", &own, 401).await?;
        check("an empty token", &format!("{own}Authorization: Bearer \r\n"), 401).await?;
        check("a wrong token", &format!("{own}Authorization: Bearer {}x\r\n", server.token), 401).await?;
        check("a wrong key", &format!("{own}X-Secret-Key: test\r\n"), 401).await?;
        check("another scheme", &format!("{own}Authorization: Basic {}\r\n", server.token), 401).await?;
        check("two tokens", &format!("{own}{token}X-Secret-Key: {}\r\n", server.token), 400).await?;
        check("a revoked token", &format!("{own}Authorization: Bearer {revoked}\r\n"), 401).await?;
        let scope = scope.with_context(|| format!("{path} needs a scope"))?;
        if scope != "read" {
            check("the scope `read`", &format!("{own}Authorization: Bearer {reader}\r\n"), 403).await?;
        }
        if scope == "admin" {
            check("the scope `run`", &format!("{own}X-Secret-Key: {runner}\r\n"), 403).await?;
        }
    }
    ensure!(closed > 10 && open >= 2, "{closed} {open}");
    // Unknown routes tell nothing without a token.
    ensure!(raw(&server, &format!("GET /nothing HTTP/1.1\r\n{own}\r\n")).await? == 401);
    ensure!(raw(&server, &format!("GET /nothing HTTP/1.1\r\n{own}{token}\r\n")).await? == 404);
    ensure!(raw(&server, &format!("PUT /runs HTTP/1.1\r\n{own}{token}\r\n")).await? == 405);
    ensure!(
        raw(&server, &format!("GET /ping HTTP/1.1\r\n{own}{token}Origin: http://localhost:{port}\r\n\r\n"))
            .await?
            == 200
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_stored_as_hashes_in_a_private_file() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let file = server.folder.path().join("data/server/tokens.json");
    let text = std::fs::read_to_string(&file)?;
    ensure!(!text.contains(&server.token[6..]), "{text}");
    ensure!(std::fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600);
    let server = server.restarted().await?;
    ensure!(server.server.as_ref().context("it runs")?.first_token().is_none(), "it is shown once");
    server.get("/ping").await?;
    // The audit log names the token by its id.
    server.post("/runs", serde_json::json!({}), 400).await?;
    let audit = std::fs::read_to_string(file.with_file_name("audit.jsonl"))?;
    let last: Value = serde_json::from_str(audit.lines().last().context("a line")?)?;
    let info = &TokenStore::new(&file).list()?[0];
    ensure!(last["client"] == *info.id && last["status"] == 400 && last["path"] == "/runs", "{last}");
    ensure!(!audit.contains(&server.token));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_a_token_ends_its_streams() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("late").after(Duration::from_secs(60))]).await?;
    let store = TokenStore::new(server.folder.path().join("data/server/tokens.json"));
    let second = store.create("second", Scope::Run)?.secret;
    let started = Instant::now();
    let mut response = loop {
        let body = run_body("stream", "Wait", None).to_string();
        let request = server.client.post(format!("{}/runs", server.url)).bearer_auth(&second).body(body);
        let response = request.send().await?;
        if response.status() == 200 {
            break response;
        }
        ensure!(started.elapsed() < LIMIT, "{}", response.status());
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    ensure!(response.chunk().await?.is_some());
    store.revoke("second")?;
    // The client's own time limit fails this where the stream stays open.
    while response.chunk().await?.is_some() {}
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn local_programs_of_the_user_need_no_token() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("private/goosed.sock");
    let socket = path.clone();
    let model = ModelServer::scripted([])?;
    let server = TestServer::with(model, "auto", |options| options.socket = Some(socket)).await?;
    ensure!(std::fs::metadata(&path)?.permissions().mode() & 0o777 == 0o600);
    let mut stream = UnixStream::connect(&path).await?;
    stream.write_all(b"GET /agents HTTP/1.1\r\nHost: goose\r\n\r\n").await?;
    ensure!(status(stream).await? == 200);
    let mut stream = UnixStream::connect(&path).await?;
    stream.write_all(b"GET /agents HTTP/1.1\r\nHost: goose\r\nAuthorization: Bearer wrong\r\n\r\n").await?;
    ensure!(status(stream).await? == 401, "a wrong token is not ignored");
    drop(server);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_hosts_and_origins_are_accepted() -> anyhow::Result<()> {
    let server = TestServer::with(ModelServer::scripted([])?, "auto", |options| {
        options.allowed_hosts = vec!["goose.example".to_owned()];
        options.allowed_origins = vec!["https://app.example".to_owned()];
        options.secret_key = Some(Secret::new("from the environment"));
    })
    .await?;
    let key = "X-Secret-Key: from the environment\r\n";
    let send = async |headers: &str| raw(&server, &format!("GET /ping HTTP/1.1\r\n{headers}{key}\r\n")).await;
    ensure!(send("Host: goose.example\r\n").await? == 200);
    ensure!(
        send("Host: goose.example\r\nOrigin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n").await?
            == 200
    );
    ensure!(send("Host: goose.example\r\nOrigin: https://app.example.org\r\n").await? == 403);
    ensure!(send("Host: other.example\r\n").await? == 421);
    let response = server.client.request(Method::OPTIONS, format!("{}/runs", server.url)).send().await?;
    ensure!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")), "no CORS");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_machines_need_a_token() -> anyhow::Result<()> {
    let refused = TestServer::with(ModelServer::scripted([])?, "auto", |options| {
        options.host = std::net::Ipv4Addr::UNSPECIFIED.into();
        options.is_unauthenticated = true;
    });
    let error = refused.await.err().context("it must not start")?;
    ensure!(error.to_string().contains("--dangerously-unauthenticated"), "{error}");
    let server =
        TestServer::with(ModelServer::scripted([])?, "auto", |options| options.is_unauthenticated = true)
            .await?;
    ensure!(server.client.get(format!("{}/agents", server.url)).send().await?.status() == 200);
    Ok(())
}
