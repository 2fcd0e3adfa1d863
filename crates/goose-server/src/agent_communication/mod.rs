//! The Agent Communication Protocol, version 0.2, at the root, as its clients expect it.
//!
//! ```text
//! POST /runs ─► Runs::start ─► events ─► sync: the run · async: the run, at once · stream: the events
//!   run.awaiting: an approval or a question waits ─► POST /runs/{id} answers it
//! ```
//!
//! - `models`: runs, messages and events as JSON; `agents`: the modes of all agents as listed agents;
//! - `routes`: the endpoints of runs; `session_routes`: sessions, their history and the files of messages.

pub(crate) mod agents;
pub(crate) mod models;
pub(crate) mod routes;
mod session_routes;

use crate::endpoint::Endpoint;

/// Returns the routes of the protocol.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = agents::endpoints();
    endpoints.extend(routes::endpoints());
    endpoints.extend(session_routes::endpoints());
    endpoints
}
