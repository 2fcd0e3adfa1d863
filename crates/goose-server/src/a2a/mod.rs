//! A2A over JSON-RPC, versions 1.0 and 0.3 at one address. A task is a run, its context is a session.
//!
//! - `card`: the agent card, open to everyone; `form`: tasks, messages and events in the JSON of each version; `rpc`:
//!   the methods;
//!   `list`: pages of tasks.

mod card;
mod form;
mod list;
mod rpc;

use crate::endpoint::Endpoint;

/// Tag of the routes in the document.
const TAG: &str = "A2A";

/// Path of the endpoint.
const PATH: &str = "/a2a";

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![card::endpoint(), rpc::endpoint()]
}
