//! Recording: a transport that keeps the messages that cross it.

use std::{collections::BTreeMap, path::Path};

use goose_extension::ToolResult;
use goose_mcp_bridge::{BoxTransport, Target};
use rmcp::{
    RoleClient,
    model::{Extensions, GetExtensions as _, JsonRpcMessage, RequestId},
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};

use super::{
    Tape,
    file::{Document, Entry, Event, MAX_TAPE_BYTES, too_large},
    normalize::{self, Placeholders, Register},
};

/// Everything that crossed the tape's connections, as it was.
#[derive(Default)]
pub(super) struct Recording {
    server: String,
    connections: u32,
    kept: Vec<Kept>,
    bytes: usize,
    is_full: bool,
    is_finished: bool,
}

struct Kept {
    connection: u32,
    event: Happened,
}

enum Happened {
    Sent(Value),
    Unsent(Value),
    Received(Value, Option<InboundStreamOrigin>),
    Closed,
}

impl Recording {
    /// Notes what is recorded: the kind of target and its short name, without folders, arguments or credentials.
    pub(super) fn describe(&mut self, target: &Target) {
        self.server = match target {
            Target::Program(spec) => {
                let program = Path::new(&spec.program).file_stem().unwrap_or_default();
                format!("program {}", program.to_string_lossy())
            }
            Target::Http(url) => {
                let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
                format!("http {}", host.unwrap_or_default())
            }
            _ => "streams".to_owned(),
        };
    }

    pub(super) fn finish(&mut self) {
        self.is_finished = true;
    }

    pub(super) fn write(&self, file: &Path, placeholders: &Placeholders) -> ToolResult<()> {
        if self.is_full {
            return Err(too_large(file));
        }
        let (mut register, numbers) = (Register::default(), self.numbers());
        let entries = self.kept.iter().filter_map(|kept| {
            let connection = *numbers.get(&kept.connection)?;
            kept.entry(connection, &mut register)
        });
        let mut entries: Vec<Entry> = entries.collect();
        for entry in &mut entries {
            if let Event::Client(message) | Event::Server(message) = &mut entry.event {
                placeholders.hide(message);
            }
        }
        Document::new(self.server.clone(), entries).save(file)
    }

    /// The connections that are written, and their numbers in the file. A connection that did not get beyond its
    /// greeting is left out where another one was made in its place: a replay greets only once.
    fn numbers(&self) -> BTreeMap<u32, u32> {
        let mut used: BTreeMap<u32, u32> = BTreeMap::new();
        for kept in &self.kept {
            if kept.connection == self.connections || kept.follows_greeting() {
                used.insert(kept.connection, 0);
            }
        }
        used.into_keys().zip(1..).collect()
    }

    fn keep(&mut self, connection: u32, event: Happened) {
        if self.is_finished || self.is_full {
            return;
        }
        if let Happened::Sent(message) | Happened::Received(message, _) = &event {
            self.bytes += serde_json::to_vec(message).map_or(0, |text| text.len());
        }
        self.is_full = self.bytes > MAX_TAPE_BYTES;
        if self.is_full {
            self.kept = Vec::new();
        } else {
            self.kept.push(Kept { connection, event });
        }
    }
}

impl Kept {
    /// Returns whether this was sent by a client that was already greeted.
    fn follows_greeting(&self) -> bool {
        let Happened::Sent(message) = &self.event else { return false };
        !matches!(normalize::method(message), "" | "server/discover" | "initialize")
    }

    fn entry(&self, connection: u32, register: &mut Register) -> Option<Entry> {
        let (event, stream) = match &self.event {
            Happened::Sent(message) => (Event::Client(register.client(connection, message.clone())?), None),
            Happened::Unsent(id) => (Event::Unsent(register.number(connection, id)?), None),
            Happened::Closed => (Event::Closed {}, None),
            Happened::Received(message, origin) => {
                let stream = origin.as_ref().map(|origin| match origin {
                    InboundStreamOrigin::OutboundRequest(id) => register.number(connection, &json!(id)),
                    InboundStreamOrigin::Unassociated => None,
                });
                let message = register.server(connection, message.clone())?;
                (Event::Server(message), stream.map(Option::unwrap_or_default))
            }
        };
        Some(Entry { connection, stream, event })
    }
}

/// A transport whose messages go on a tape. The tape is written when the transport is dropped.
struct Recorded {
    inner: BoxTransport,
    track: Track,
}

/// One connection on a tape.
#[derive(Clone)]
struct Track {
    tape: Tape,
    connection: u32,
}

/// Puts a tape in front of a transport.
pub(super) fn recorded(inner: BoxTransport, tape: &Tape) -> BoxTransport {
    BoxTransport::new(Recorded { inner, track: Track::new(tape) })
}

impl Track {
    fn new(tape: &Tape) -> Self {
        let mut connection = 0;
        tape.with_recording(|recording| {
            recording.connections += 1;
            connection = recording.connections;
        });
        Self { tape: tape.clone(), connection }
    }

    fn keep(&self, event: Happened) {
        self.tape.with_recording(|recording| recording.keep(self.connection, event));
    }

    fn sent(&self, message: &TxJsonRpcMessage<RoleClient>) {
        if let Ok(message) = serde_json::to_value(message) {
            self.keep(Happened::Sent(message));
        }
    }

    fn received(&self, message: Option<&RxJsonRpcMessage<RoleClient>>) {
        match message {
            None => self.keep(Happened::Closed),
            Some(message) => {
                let origin = extensions(message).and_then(|it| it.get::<InboundStreamOrigin>().cloned());
                if let Ok(message) = serde_json::to_value(message) {
                    self.keep(Happened::Received(message, origin));
                }
            }
        }
    }
}

fn extensions(message: &RxJsonRpcMessage<RoleClient>) -> Option<&Extensions> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.request.extensions()),
        JsonRpcMessage::Notification(notification) => Some(notification.notification.extensions()),
        _ => None,
    }
}

fn request_id(message: &TxJsonRpcMessage<RoleClient>) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

impl Transport<RoleClient> for Recorded {
    type Error = <BoxTransport as Transport<RoleClient>>::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (track, id) = (self.track.clone(), request_id(&message));
        track.sent(&message);
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            if let (Err(_), Some(id)) = (&sent, id) {
                track.keep(Happened::Unsent(json!(id)));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await;
        self.track.received(message.as_ref());
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let mut is_finished = false;
        self.track.tape.with_recording(|recording| is_finished = recording.is_finished);
        if !is_finished && let Err(error) = self.track.tape.save() {
            tracing::warn!(%error, "a recording was not written");
        }
    }
}
