//! The core of goose.

pub mod config;
