//! The mark that a child, and whatever it starts, carries in its environment.
//!
//! It is `<run id>:<number>`: the run id is this goose process, the number is the child. It finds those who left their
//! process group. A goose inside a goose marks its own children with its own run id: its own watcher cares for them.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

/// The variable that has the mark. `watcher.sh` knows it too.
pub(crate) const VARIABLE: &str = "GOOSE_OWNED_BY";

/// A value that no other goose process has.
pub(crate) fn run_id() -> &'static str {
    static RUN_ID: LazyLock<String> = LazyLock::new(|| format!("{:016x}{:016x}", random(), random()));
    &RUN_ID
}

/// The mark for one more child.
pub(crate) fn next() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    format!("{}:{}", run_id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The keys of a hash map are random; the process and the time are there in case they are not.
fn random() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    RandomState::new().hash_one((std::process::id(), now.as_nanos()))
}
