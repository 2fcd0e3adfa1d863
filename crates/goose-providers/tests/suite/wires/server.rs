//! A web server on loopback that sends exactly the bytes of a script, and can break off, stay silent or babble.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// One step of an answer's body.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends a chunk.
    Send(Vec<u8>),
    /// Sends a chunk this often, with a pause after each.
    Repeat(Vec<u8>, usize, Duration),
    /// Closes the connection in mid-body.
    Cut,
    /// Says nothing more, and waits until the other side goes.
    Stay,
}

/// One answer.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) acts: Vec<Act>,
}

impl Answer {
    pub(crate) fn events(frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let acts = frames.into_iter().map(Act::Send).collect();
        Self { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())], acts }
    }

    pub(crate) fn body(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".into(), content_type.into())];
        Self { status, headers, acts: vec![Act::Send(body.into())] }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn then(mut self, act: Act) -> Self {
        self.acts.push(act);
        self
    }
}

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The running server. It ends when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
    state: Arc<State>,
}

struct State {
    script: Box<dyn Fn(usize) -> Answer + Send + Sync>,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
    left: AtomicUsize,
}

impl Server {
    /// Answers every request alike.
    pub(crate) async fn always(answer: Answer) -> Self {
        Self::scripted(move |_| answer.clone()).await
    }

    /// Answers the n-th request, counted from 0.
    pub(crate) async fn scripted(script: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            script: Box::new(script),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self { address, task, state }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of clients that left while the server stayed.
    pub(crate) fn left(&self) -> usize {
        self.state.left.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // Dropped, and so ended, together with this task.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        stream.set_nodelay(true).unwrap();
        connections.spawn(serve(stream, Arc::clone(&state)));
    }
}

/// Serves requests until one side ends the connection.
async fn serve(mut stream: TcpStream, state: Arc<State>) -> Option<()> {
    loop {
        let asked = read_request(&mut stream).await?;
        let number = {
            let mut all = state.asked.lock().unwrap();
            all.push(asked);
            all.len() - 1
        };
        let answer = (state.script)(number);
        let mut head = format!("HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.ok()?;
        for act in answer.acts {
            perform(act, &mut stream, &state).await?;
        }
        stream.write_all(b"0\r\n\r\n").await.ok()?;
    }
}

async fn perform(act: Act, stream: &mut TcpStream, state: &State) -> Option<()> {
    match act {
        Act::Send(bytes) => chunk(stream, &bytes).await,
        Act::Repeat(bytes, times, pause) => {
            for _ in 0..times {
                chunk(stream, &bytes).await?;
                tokio::time::sleep(pause).await;
            }
            Some(())
        }
        Act::Cut => None,
        Act::Stay => {
            let mut byte = [0];
            while stream.read(&mut byte).await.is_ok_and(|read| read > 0) {}
            state.left.fetch_add(1, Ordering::SeqCst);
            None
        }
    }
}

async fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> Option<()> {
    if bytes.is_empty() {
        return Some(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed).await.ok()
}

async fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let length: usize = length.trim().parse().ok()?;
        let body_start = end + 4;
        while bytes.len() < body_start + length {
            let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
            bytes.extend_from_slice(&buffer[..read]);
        }
        let body = String::from_utf8(bytes[body_start..].to_vec()).expect("a request is valid UTF-8");
        return Some(Asked { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body });
    }
}
