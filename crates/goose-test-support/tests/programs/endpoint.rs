//! `faulty_server` over HTTP, spoken to with bare sockets.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::raw::{PATIENCE, Program, file};

/// A running endpoint, and the session that was opened there.
struct Endpoint {
    _program: Program,
    address: String,
    session: String,
}

struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Endpoint {
    fn start(arguments: &[&str]) -> Result<Self> {
        let program = Program::start(&[&["--http"], arguments].concat())?;
        let url = String::from_utf8(program.line()?)?;
        let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        let address = address.with_context(|| url.clone())?.to_owned();
        Ok(Self { _program: program, address, session: String::new() })
    }

    /// Starts and greets.
    fn greeted(arguments: &[&str]) -> Result<Self> {
        let mut endpoint = Self::start(arguments)?;
        endpoint.greet()?;
        Ok(endpoint)
    }

    fn greet(&mut self) -> Result<()> {
        let response = self.post("initialize", json!({ "protocolVersion": "2025-11-25" }))?;
        ensure!(response.status == 200, "{}", response.head);
        self.session = response.header("mcp-session-id").context("no session")?.to_owned();
        Ok(())
    }

    fn post(&self, method: &str, params: Value) -> Result<Response> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("Mcp-Session-Id: {id}\r\n"),
        };
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST /mcp HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nX-Own: kept\r\n{session}\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        Response::read(stream)
    }

    fn echo(&self) -> Result<Response> {
        self.post("tools/call", json!({ "name": "echo", "arguments": { "text": "over HTTP" } }))
    }
}

impl Response {
    fn read(mut stream: TcpStream) -> Result<Self> {
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").with_context(|| text.clone())?;
        let status = head.split_whitespace().nth(1).context("no status")?.parse()?;
        Ok(Self { status, head: head.to_lowercase(), body: body.to_owned() })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

#[test]
fn calls_need_a_session_and_are_answered_with_events() -> Result<()> {
    let mut endpoint = Endpoint::start(&[])?;
    ensure!(endpoint.echo()?.status == 400);
    endpoint.greet()?;
    let response = endpoint.echo()?;
    ensure!(response.header("content-type") == Some("text/event-stream"), "{}", response.head);
    ensure!(response.body.starts_with("data: {") && response.body.contains("over HTTP"), "{}", response.body);
    Ok(())
}

#[test]
fn statuses_come_first_and_then_answers() -> Result<()> {
    let arguments = ["--status", "503", "2", "--status", "401", "1", "--retry-after", "3"];
    let endpoint =
        Endpoint::greeted(&[&arguments[..], &["--www-authenticate", "bearer realm=\"x\""]].concat())?;
    for expected in [503, 503, 401, 200] {
        let response = endpoint.echo()?;
        ensure!(response.status == expected, "{}", response.head);
        ensure!(response.header("retry-after").is_some() == (expected != 200));
        let challenge = response.header("www-authenticate");
        ensure!(challenge == (expected == 401).then_some("bearer realm=\"x\""), "{challenge:?}");
    }
    Ok(())
}

#[test]
fn statuses_are_for_all_or_for_one_method() -> Result<()> {
    let endpoint = Endpoint::start(&["--status-always", "429"])?;
    ensure!(endpoint.post("initialize", json!({}))?.status == 429);
    let endpoint = Endpoint::greeted(&["--status", "404", "1", "--status-on", "tools/call"])?;
    ensure!(endpoint.post("tools/list", json!({}))?.status == 200);
    ensure!(endpoint.echo()?.status == 404);
    ensure!(endpoint.echo()?.status == 200);
    Ok(())
}

#[test]
fn it_sends_clients_elsewhere() -> Result<()> {
    let endpoint = Endpoint::start(&["--redirect", "http://127.0.0.1:1/elsewhere"])?;
    let response = endpoint.post("initialize", json!({}))?;
    ensure!(response.status == 307 && response.header("location") == Some("http://127.0.0.1:1/elsewhere"));
    Ok(())
}

#[test]
fn a_plain_body_has_the_length_that_was_asked_for() -> Result<()> {
    let endpoint = Endpoint::greeted(&["--json-body", "5000000"])?;
    let response = endpoint.echo()?;
    ensure!(response.header("content-type") == Some("application/json"), "{}", response.head);
    ensure!(response.body.len() == 5_000_000, "{}", response.body.len());
    ensure!(serde_json::from_str::<Value>(&response.body)?["id"] == 1);
    Ok(())
}

#[test]
fn sessions_expire() -> Result<()> {
    let mut endpoint = Endpoint::greeted(&["--expire-sessions"])?;
    ensure!(endpoint.echo()?.status == 200);
    ensure!(endpoint.echo()?.status == 404);
    endpoint.session.clear();
    endpoint.greet()?;
    ensure!(endpoint.echo()?.status == 200);
    Ok(())
}

#[test]
fn headers_are_written_down() -> Result<()> {
    let log = file("headers");
    let endpoint = Endpoint::start(&["--headers-log", log.to_str().context("UTF-8")?])?;
    endpoint.post("initialize", json!({}))?;
    let text = std::fs::read_to_string(&log)?;
    ensure!(text.starts_with("POST\n") && text.contains("x-own: kept\n"), "{text}");
    Ok(())
}
