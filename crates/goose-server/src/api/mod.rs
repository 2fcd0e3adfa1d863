//! goose's own API below `/api/v1`, where the protocols end.
//!
//! - `models`: what is read and written; `sessions`: sessions, their messages and their runs; `transfer`: export,
//!   import and copies; `questions`: open questions of all sessions; `events`: events of one or several sessions as a
//!   stream;
//!   `inspect`: agents, tools and extensions; `recipes`, `schedule`: recipes and scheduled jobs.

mod events;
mod inspect;
mod models;
mod questions;
mod recipes;
mod schedule;
mod sessions;
mod transfer;

use crate::endpoint::Endpoint;

/// Tag of the routes in the document.
const TAG: &str = "goose";

/// Answer for a session that does not exist.
const MISSING: (u16, &str) = (404, "There is no such session");

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = sessions::endpoints();
    endpoints.extend(transfer::endpoints());
    endpoints.extend(questions::endpoints());
    endpoints.extend(events::endpoints());
    endpoints.extend(inspect::endpoints());
    endpoints.extend(recipes::endpoints());
    endpoints.extend(schedule::endpoints());
    endpoints
}
