//! [`Loopback`]: a small web server on this machine that answers as a test wants, also badly.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::Context as _;
use parking_lot::Mutex;

/// Time limit for a client's request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest request.
const MAX_REQUEST_BYTES: u64 = 16 * 1024 * 1024;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAsked {
    /// `GET`.
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl HttpAsked {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first byte that is asked for, where it is not all.
    pub fn range_from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct HttpAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    cut_after: Option<usize>,
    silent_after: Option<usize>,
}

impl HttpAnswer {
    /// A status with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// A file, or the rest of it where that is asked for.
    pub fn file(asked: &HttpAsked, file: &[u8]) -> Self {
        match asked.range_from() {
            None => Self::new(200, file),
            Some(from) if from >= file.len() => Self::new(416, ""),
            Some(from) => {
                let range = format!("bytes {from}-{}/{}", file.len() - 1, file.len());
                Self::new(206, &file[from..]).with_header("content-range", &range)
            }
        }
    }

    /// With a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Closes the connection after so many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut_after = Some(bytes);
        self
    }

    /// Says nothing more after so many bytes of the body, until the server ends.
    pub fn silent_after(mut self, bytes: usize) -> Self {
        self.silent_after = Some(bytes);
        self
    }
}

type Script = Box<dyn FnMut(&HttpAsked) -> HttpAnswer + Send>;

struct State {
    script: Mutex<Script>,
    asked: Mutex<Vec<HttpAsked>>,
    is_over: AtomicBool,
}

/// A web server on a port of its own, which ends when it is dropped.
pub struct Loopback {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Answers each request with what a function makes of it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn answering(script: impl FnMut(&HttpAsked) -> HttpAnswer + Send + 'static) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for a server")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            script: Mutex::new(Box::new(script)),
            asked: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let thread = thread::spawn({
            let state = Arc::clone(&state);
            move || serve(&listener, &state)
        });
        Ok(Self { address, state, thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, oldest first.
    pub fn asked(&self) -> Vec<HttpAsked> {
        self.state.asked.lock().clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // Wakes who waits for the next connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, state: &Arc<State>) {
    for stream in listener.incoming() {
        if state.is_over.load(Ordering::Relaxed) {
            break;
        }
        let (Ok(stream), state) = (stream, Arc::clone(state)) else { continue };
        thread::spawn(move || {
            // A client that goes away is no fault of the server.
            let _ = converse(&stream, &state);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
}

/// One request, one answer.
fn converse(stream: &TcpStream, state: &State) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let asked = read(stream)?;
    let answer = state.script.lock()(&asked);
    state.asked.lock().push(asked);
    let mut out = stream;
    write!(
        out,
        "HTTP/1.1 {} Said\r\nconnection: close\r\ncontent-length: {}\r\n",
        answer.status,
        answer.body.len()
    )?;
    for (name, value) in &answer.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    write!(out, "\r\n")?;
    let end = answer.cut_after.or(answer.silent_after).unwrap_or(answer.body.len()).min(answer.body.len());
    out.write_all(&answer.body[..end])?;
    out.flush()?;
    while answer.silent_after.is_some() && !state.is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn read(stream: &TcpStream) -> anyhow::Result<HttpAsked> {
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_BYTES));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, path) =
        (words.next().context("no method")?.to_owned(), words.next().context("no path")?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = HttpAsked { method, path, headers, body: String::new() };
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.take(length).read_to_string(&mut asked.body)?;
    Ok(asked)
}
