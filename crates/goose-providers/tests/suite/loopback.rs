//! A server at a free port of the loopback interface that answers with given bytes and keeps what it was asked.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// An answer.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    end: End,
}

/// The end of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Clean,
    Broken,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), end: End::Clean }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with more bytes.
    pub(crate) fn append(&mut self, more: impl Into<Vec<u8>>) {
        self.body.extend(more.into());
    }

    /// The connection breaks in the middle of a chunk.
    pub(crate) fn broken(mut self) -> Self {
        self.end = End::Broken;
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = &self.body;
        let mut bytes = match self.end {
            End::Clean => format!("{head}content-length: {}\r\n\r\n", body.len()),
            End::Broken => format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len() + 100),
        }
        .into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) target: String,
    head: String,
    pub(crate) body: Value,
}

impl Asked {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        let (_, value) = self.head.lines().find(named)?.split_once(':')?;
        Some(value.trim())
    }
}

/// The server; it ends with its owner.
pub(crate) struct Loopback {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Loopback {
    /// Each connection gets the next answer, the last one again and again.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            for number in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                let answer = answers[usize::min(number, answers.len() - 1)].clone();
                serve(stream, &answer, &kept).await;
            }
        });
        Self { port, asked, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The only thing that was asked.
    pub(crate) fn only(&self) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.len(), 1);
        asked.into_iter().next().unwrap()
    }
}

/// A server for one request that says something and then nothing more, and notices when the client leaves.
pub(crate) struct Hanging {
    asked: Option<oneshot::Receiver<()>>,
    left: JoinHandle<()>,
}

impl Hanging {
    const PATIENCE: Duration = Duration::from_secs(20);

    /// The server, and its URL.
    pub(crate) async fn start(said: &str) -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let said = said.as_bytes().to_vec();
        let (tell, asked) = oneshot::channel();
        let left = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read(&mut stream).await.unwrap();
            stream.write_all(&said).await.unwrap();
            let _ = tell.send(());
            // The end, or a reset.
            while stream.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
        });
        (Self { asked: Some(asked), left }, url)
    }

    /// Waits until the request has come and all is said.
    pub(crate) async fn asked(mut self) -> Self {
        let asked = self.asked.take().unwrap();
        tokio::time::timeout(Self::PATIENCE, asked).await.unwrap().unwrap();
        self
    }

    /// Waits until the client has left.
    pub(crate) async fn left(self) {
        tokio::time::timeout(Self::PATIENCE, self.left).await.unwrap().unwrap();
    }
}

async fn serve(mut stream: TcpStream, answer: &Answer, kept: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&mut stream).await else { return };
    kept.lock().unwrap().push(asked);
    // The client may hang up in the middle of a long answer.
    let _ = stream.write_all(&answer.bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let target = head.split_whitespace().nth(1)?.to_owned();
    let mut asked = Asked { target, head, body: Value::Null };
    let length: usize = asked.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Some(asked)
}
