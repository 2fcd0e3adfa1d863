//! The configuration, through its public interface.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod command_line;
mod editor;
mod environment;
mod extension;
mod file;
mod fingerprint;
mod paths;
mod round_trip;
mod secrets;
mod settings;
mod trust;
