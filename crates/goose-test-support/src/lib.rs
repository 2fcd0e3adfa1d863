//! Helpers that goose's tests share. A dev-dependency only.
//!
//! - [`KitchenSink`]: an extension with one tool for everything that can happen in a call, also as the program
//!   `kitchen_sink` on stdio;
//! - [`faulty_server`]: a server with a flag for everything that a server can do wrong, as the program `faulty_server`
//!   on stdio or HTTP;
//! - [`foreign_agent`]: an external agent that does as it is told, right or wrong, as the program `foreign_agent`;
//! - [`model_server`]: a model that says what a script tells it to, over the three wires;
//! - [`tiny_model`]: a model's file that the engine can run, and [`GgufWriter`], which writes any;
//! - [`Loopback`]: a web server that answers as a test wants;
//! - [`Tape`]: recorded MCP traffic, and its replay without the server;
//! - [`binary`] and [`example`]: the programs of this crate and the examples of others, built when a test asks for
//!   them;
//! - [`write_program`] and [`copy_program`]: programs in a test's own folder;
//! - [`Terminal`]: a program at a terminal, and what a person would see there;
//! - [`is_alive`]: whether a process is still there;
//! - [`description_problems`]: what the descriptions of a tool lack;
//! - [`RecordingCaller`]: a caller and notifier that remembers what it was told, and answers what it is asked.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "it serves tests, which prepare files and run programs by themselves"
)]

mod binaries;
mod descriptions;
pub mod faulty_server;
pub mod foreign_agent;
mod gguf;
mod kitchen_sink;
mod loopback;
pub mod model_server;
mod recording;
mod recording_caller;
mod terminal;
pub mod tiny_model;

pub use binaries::{binary, copy_program, example, is_alive, write_program};
pub use descriptions::description_problems;
pub use gguf::GgufWriter;
pub use kitchen_sink::KitchenSink;
pub use loopback::{HttpAnswer, HttpAsked, Loopback};
pub use model_server::{ModelServer, Turn};
pub use recording::{Tape, Tapes};
pub use recording_caller::RecordingCaller;
pub use terminal::Terminal;
