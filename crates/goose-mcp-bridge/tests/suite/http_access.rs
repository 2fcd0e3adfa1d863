//! Access to the HTTP endpoint: only its own names, only known origins, only bodies of a sane size.

use goose_mcp_bridge::{ConnectOptions, HttpOptions, HttpServer, Lifecycle, MAX_LINE_BYTES, connect, serve};
use goose_test_support::KitchenSink;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

async fn server() -> HttpServer {
    serve(KitchenSink::new()).http(HttpOptions::default()).await.unwrap()
}

type Headers<'a> = &'a [(&'a str, &'a str)];

/// Sends a POST as it is and returns the answer as it is.
async fn post(server: &HttpServer, host: &str, headers: Headers<'_>, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[tokio::test]
async fn only_its_own_names_and_known_origins_get_in() {
    let server = server().await;
    let port = server.address().port();
    let local = format!("localhost:{port}");
    let cases: [(&str, Headers<'_>, bool); 9] = [
        (&local, &[], true),
        (&format!("127.0.0.1:{port}"), &[], true),
        (&local, &[("Origin", "http://localhost:5173")], true),
        (&local, &[("Origin", "http://evil.example")], false),
        (&local, &[("Origin", "null")], false),
        (&local, &[("Origin", "https://localhost.evil.example")], false),
        ("evil.example", &[], false),
        (&format!("evil.example:{port}"), &[], false),
        ("localhost.evil.example", &[("Origin", "http://localhost:1")], false),
    ];
    for (host, headers, allowed) in cases {
        let answer = post(&server, host, headers, HELLO).await;
        let expected = if allowed { 200 } else { 403 };
        assert_eq!(status(&answer), expected, "Host {host}, {headers:?}:\n{answer}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_messages_are_refused() {
    let server = server().await;
    let host = format!("localhost:{}", server.address().port());
    let broken = post(&server, &host, &[], "{\"jsonrpc\":").await;
    assert_eq!(status(&broken), 400, "{broken}");
    assert!(broken.contains("-32700"), "{broken}");
    let huge = format!("\"{}\"", "x".repeat(MAX_LINE_BYTES));
    assert_eq!(status(&post(&server, &host, &[], &huge).await), 413);
    assert_eq!(status(&post(&server, &host, &[], HELLO).await), 200);
}

#[tokio::test]
async fn a_browser_that_looks_around_gets_a_hint() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
        server.address()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), 406);
    assert!(answer.contains("MCP client"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_frees_its_port_though_a_client_is_there() {
    for lifecycle in [Lifecycle::Discover, Lifecycle::Initialize] {
        let server = server().await;
        let address = server.address();
        let client =
            connect(server.url(), ConnectOptions { lifecycle, ..ConnectOptions::default() }).await.unwrap();
        server.stop().await.unwrap();
        assert!(tokio::net::TcpListener::bind(address).await.is_ok());
        drop(client);
    }
}

#[tokio::test]
async fn a_request_that_nests_too_deep_is_answered_with_its_id() {
    let server = server().await;
    let host = format!("localhost:{}", server.address().port());
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"whole","arguments":{{"d":{deep}}}}}}}"#
    );
    let answer = post(&server, &host, &[], &body).await;
    assert_eq!(status(&answer), 400, "{answer}");
    assert!(answer.contains("-32600") && answer.contains("\"id\":7"), "{answer}");
}
