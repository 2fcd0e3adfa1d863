//! Record and replay: what crossed a connection to a server, kept in a file, and played back without the server.
//!
//! A [`Tape`] that records sits in front of any transport and keeps every message. A [`Tape`] that replays *is* the
//! transport: nothing is started and nothing is waited for. A request is answered as it was when it was recorded; a
//! request that the recording does not know fails with a diff, and [`Tape::finish`] tells of it once more. Requests are
//! told apart by what they ask, not by their order; of two that ask the same, the first gets the first answer.
//!
//! # The file
//!
//! Indented JSON, made to be read and compared:
//!
//! ```json
//! {
//!   "format": 1,
//!   "server": "program kitchen_sink",
//!   "messages": [
//!     { "client": { "id": 1, "method": "tools/call", "params": { "name": "echo" } } },
//!     { "server": { "method": "notifications/progress", "params": { "progress": 0, "progressToken": 1 } } },
//!     { "server": { "id": "s1", "method": "roots/list" } },
//!     { "client": { "id": "s1", "result": { "roots": [] } } },
//!     { "server": { "id": 1, "result": { "content": [] } } }
//!   ]
//! }
//! ```
//!
//! Messages stand in the order in which they crossed the connection. What would differ from one run to the next is left
//! out or given a name, so that the same traffic makes the same file:
//!
//! - our requests are numbered from 1 on, the server's are called `s1`, `s2`, …; a progress token, a subscription and a
//!   cancellation name the number of their request; a sealed state is called `state-1`, `state-2`, …;
//! - the client's version is `*`; its session and folder are left out, and so are tokens that we sent;
//! - what comes for a request after we cancelled it is left out, and so is the end of a stream of news;
//! - text that a placeholder stands for ([`Tape::with_placeholder`]).
//!
//! Beside `client` and `server` there are `closed` (the server ended the connection) and `unsent` (a request that the
//! transport could not send). `connection` counts the connections on one tape and is left out for the first. `stream`
//! says on which request's HTTP stream a message came; 0 is the stream of no request.
//!
//! **A recording holds what the server said and what it was asked**, word for word. Headers, the environment and
//! the command line are not in it; look through a recording before you share it.
//!
//! # The map
//!
//! - `file`: reading and writing; `normalize`: stable names for what differs between runs;
//! - `record`: the transport that keeps messages;
//! - `script`: the answers to each request; `player`: matching, answering, and the transport that replays; `report`:
//!   messages where a test and its recording differ.

mod file;
mod normalize;
mod player;
mod record;
mod report;
mod script;

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use goose_extension::{ToolError, ToolResult};
use goose_mcp_bridge::{BoxTransport, Interceptor, Target};
use parking_lot::{Mutex, MutexGuard};

use self::{
    file::Document,
    normalize::Placeholders,
    player::{Player, Replayed},
    record::{Recording, recorded},
};

/// Advice about a recording that does not fit.
const HOW_TO_RECORD: &str = "Record again with the real server: run the test with GOOSE_RECORD_MCP=1 \
     (in code: connect with a `Tape::record`).";

/// One service's recorded traffic. Clones share it.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use goose_mcp_bridge::{ConnectOptions, ProcessSpec, connect};
/// # use goose_test_support::Tape;
/// # async fn example(records: bool, command: ProcessSpec) -> goose_extension::ToolResult<()> {
/// let file = "tests/tapes/memory.json";
/// let tape = if records { Tape::record(file) } else { Tape::replay(file)? };
/// let tape = tape.with_placeholder("/tmp/test-4711", "FOLDER");
/// let memory = connect(command, ConnectOptions { interceptor: Some(Arc::new(tape.clone())), ..ConnectOptions::default() }).await?;
/// // … use it …
/// drop(memory);
/// tape.finish()
/// # }
/// ```
#[derive(Clone)]
pub struct Tape(Arc<Inner>);

struct Inner {
    file: PathBuf,
    placeholders: Mutex<Placeholders>,
    side: Side,
}

enum Side {
    Record(Mutex<Recording>),
    Replay(Box<Mutex<Player>>),
}

impl Tape {
    /// A tape that keeps everything that crosses a connection. The file is written when the connection ends and by
    /// [`finish`](Self::finish), each time as a whole.
    pub fn record(file: impl Into<PathBuf>) -> Self {
        Self::new(file.into(), Side::Record(Mutex::default()))
    }

    /// A tape that answers as it was recorded.
    ///
    /// # Errors
    ///
    /// There is no recording, or it cannot be read; the message says how to record.
    pub fn replay(file: impl Into<PathBuf>) -> ToolResult<Self> {
        let file = file.into();
        let player = Player::new(Document::load(&file)?);
        Ok(Self::new(file, Side::Replay(Box::new(Mutex::new(player)))))
    }

    fn new(file: PathBuf, side: Side) -> Self {
        Self(Arc::new(Inner { file, placeholders: Mutex::default(), side }))
    }

    /// Lets `{{name}}` stand for `real` in the recording, wherever it occurs in a text: for what is different in each
    /// run, such as a folder. Where two overlap, the longer one wins. It holds for all clones.
    #[must_use]
    pub fn with_placeholder(self, real: impl Into<String>, name: &str) -> Self {
        lock(&self.0.placeholders).add(real.into(), name);
        self
    }

    /// Returns whether the tape answers instead of a server.
    pub fn is_replay(&self) -> bool {
        matches!(self.0.side, Side::Replay(_))
    }

    /// Ends the tape. A recording is written, and keeps nothing that comes later.
    ///
    /// # Errors
    ///
    /// A recording: where it is too large or cannot be written. A replay: where requests were made that the recording
    /// does not know, or recorded requests were not made; the message has all of them.
    pub fn finish(&self) -> ToolResult<()> {
        match &self.0.side {
            Side::Record(recording) => {
                let mut recording = lock(recording);
                recording.finish();
                recording.write(&self.0.file, &lock(&self.0.placeholders))
            }
            Side::Replay(player) => lock(player).verdict().map_err(|faults| {
                let file = self.0.file.display();
                ToolError::ExecutionError(format!(
                    "The test and its recording `{file}` differ.\n\n{faults}\n\n{HOW_TO_RECORD}"
                ))
            }),
        }
    }

    /// A transport to this tape, which must replay.
    ///
    /// # Errors
    ///
    /// The tape records: then there must be a server.
    pub fn transport(&self) -> ToolResult<BoxTransport> {
        Ok(BoxTransport::new(Replayed::new(self.clone())?))
    }

    fn save(&self) -> ToolResult<()> {
        match &self.0.side {
            Side::Record(recording) => lock(recording).write(&self.0.file, &lock(&self.0.placeholders)),
            Side::Replay(_) => Ok(()),
        }
    }

    fn with_recording(&self, change: impl FnOnce(&mut Recording)) {
        if let Side::Record(recording) = &self.0.side {
            change(&mut lock(recording));
        }
    }
}

impl Interceptor for Tape {
    fn replace(&self, target: &Target) -> ToolResult<Option<BoxTransport>> {
        self.with_recording(|recording| recording.describe(target));
        if self.is_replay() { self.transport().map(Some) } else { Ok(None) }
    }

    fn wrap(&self, transport: BoxTransport) -> BoxTransport {
        if self.is_replay() { transport } else { recorded(transport, self) }
    }
}

/// The recordings of several services: one file for each in a folder.
#[derive(Debug, Clone)]
pub struct Tapes {
    folder: PathBuf,
    record: bool,
    placeholders: Vec<(String, String)>,
    begun: Arc<Mutex<BTreeMap<String, Tape>>>,
}

impl Tapes {
    /// Recordings in a folder: written with the real services, or else replayed.
    pub fn new(folder: impl Into<PathBuf>, record: bool) -> Self {
        Self { folder: folder.into(), record, placeholders: Vec::new(), begun: Arc::default() }
    }

    /// Adds a text that differs between runs, such as a temporary folder, and the name that stands for it.
    pub fn with_placeholder(mut self, real: impl Into<String>, name: impl Into<String>) -> Self {
        self.placeholders.push((real.into(), name.into()));
        self
    }

    /// The tape of a service, the same one each time.
    ///
    /// # Errors
    ///
    /// There is no recording to replay, or it cannot be read.
    pub fn tape(&self, service: &str) -> ToolResult<Tape> {
        let mut begun = lock(&self.begun);
        if let Some(tape) = begun.get(service) {
            return Ok(tape.clone());
        }
        let file = self.folder.join(service).with_extension("json");
        let tape = if self.record { Tape::record(file) } else { Tape::replay(file)? };
        let placeholders = self.placeholders.iter();
        let tape = placeholders.fold(tape, |tape, (real, name)| tape.with_placeholder(real.as_str(), name));
        begun.insert(service.to_owned(), tape.clone());
        Ok(tape)
    }

    /// Ends all tapes.
    ///
    /// # Errors
    ///
    /// All that [`Tape::finish`] complains about.
    pub fn finish(&self) -> ToolResult<()> {
        let tapes = std::mem::take(&mut *lock(&self.begun));
        let problems: Vec<String> =
            tapes.values().filter_map(|tape| Some(tape.finish().err()?.to_string())).collect();
        if problems.is_empty() { Ok(()) } else { Err(ToolError::ExecutionError(problems.join("\n\n"))) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.is_replay() { "replay" } else { "record" };
        f.debug_struct("Tape").field("file", &self.0.file).field("side", &side).finish_non_exhaustive()
    }
}
