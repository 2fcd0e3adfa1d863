//! Who may ask through the relay.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn status(relay: &Relay, pass: &str) -> String {
    let address = (Ipv4Addr::LOCALHOST, relay.url().port().unwrap());
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request =
        format!("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n{pass}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// A pass is good for one request, and only while somebody waits for its answer.
#[tokio::test]
async fn nobody_asks_through_it_without_a_pass() {
    let nobody = Url::parse("http://127.0.0.1:1/").unwrap();
    let http = Arc::new(Http::new(Endpoint::new("google", nobody)));
    let relay = Relay::start(http, Framing::Events).await.unwrap();
    let header = |pass: &Pass| format!("{PASS}: {}\r\n", pass.token());

    let pass = relay.pass().unwrap();
    assert_eq!(status(&relay, "").await, "403");
    assert_eq!(status(&relay, &format!("{PASS}: 1\r\n")).await, "403");
    assert_eq!(pass.failure(), None);
    assert_eq!(status(&relay, &header(&pass)).await, "502");
    assert!(matches!(pass.failure(), Some(ProviderError::Network { .. })));
    assert_eq!(status(&relay, &header(&pass)).await, "403");

    let dropped = relay.pass().unwrap();
    let late = header(&dropped);
    drop(dropped);
    assert_eq!(status(&relay, &late).await, "403");
}
