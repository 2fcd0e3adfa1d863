//! Recording: a transport that keeps what crosses it.

use std::path::Path;

use goose_extension::ToolResult;
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
    normal::Register,
    placeholders::Placeholders,
};
use crate::Target;

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
            Target::Command(command) => {
                let program = Path::new(command.as_std().get_program()).file_stem().unwrap_or_default();
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
        let mut register = Register::default();
        let mut entries: Vec<Entry> = self.kept.iter().filter_map(|kept| kept.entry(&mut register)).collect();
        for entry in &mut entries {
            if let Event::Client(message) | Event::Server(message) = &mut entry.event {
                placeholders.hide(message);
            }
        }
        Document::new(self.server.clone(), entries).save(file)
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
    fn entry(&self, register: &mut Register) -> Option<Entry> {
        let connection = self.connection;
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

/// A transport, and the tape that keeps what crosses it, if any. The tape is written when the transport is dropped.
pub(crate) struct Recorded<T> {
    inner: T,
    track: Option<Track>,
}

/// One connection on a tape.
#[derive(Clone)]
pub(crate) struct Track {
    tape: Tape,
    connection: u32,
}

/// Puts a tape before a transport, where there is one that records.
pub(crate) fn recorded<T>(inner: T, tape: Option<&Tape>) -> (Recorded<T>, Option<Track>) {
    let track = tape.filter(|tape| !tape.is_replay()).map(Track::new);
    (Recorded { inner, track: track.clone() }, track)
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

    /// Forgets a connection that came to nothing and is begun anew.
    pub(crate) fn discard(self) {
        self.tape.with_recording(|recording| {
            recording.kept.retain(|kept| kept.connection != self.connection);
            recording.connections -= 1;
        });
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

impl<T: Transport<RoleClient>> Transport<RoleClient> for Recorded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let track = self.track.clone().map(|track| (track, request_id(&message)));
        if let Some((track, _)) = &track {
            track.sent(&message);
        }
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            if let (Err(_), Some((track, Some(id)))) = (&sent, track) {
                track.keep(Happened::Unsent(json!(id)));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await;
        if let Some(track) = &self.track {
            track.received(message.as_ref());
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

impl<T> Drop for Recorded<T> {
    fn drop(&mut self) {
        let Some(track) = &self.track else { return };
        let mut is_finished = false;
        track.tape.with_recording(|recording| is_finished = recording.is_finished);
        if !is_finished && let Err(error) = track.tape.save() {
            tracing::warn!(%error, "a recording was not written");
        }
    }
}
