//! One conformance suite over the wires, through real HTTP on loopback: the same cases, written in each wire's own
//! bytes by `speak`, sent by the `server` with faults at any byte.

mod arguments;
mod breaking;
mod bytes;
mod errors;
mod history;
mod model_server;
mod quirks;
mod replies;
mod requests;
mod server;
mod speak;
mod talk;
