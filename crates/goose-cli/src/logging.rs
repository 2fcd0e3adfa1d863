//! Logs: on standard error, and only where `RUST_LOG` asks for them.

use std::{env, io};

use tracing_subscriber::EnvFilter;

/// The variable that says how much is logged.
const LEVELS: &str = "RUST_LOG";

/// Begins to log, where that is wanted.
pub(crate) fn start() {
    if env::var_os(LEVELS).is_some_and(|levels| !levels.is_empty()) {
        let filter = EnvFilter::from_env(LEVELS);
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    }
}
