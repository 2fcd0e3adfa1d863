//! `read`, `write`, `edit`: files, with their encoding, line ends and permissions kept.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `read.rs`, `write.rs`, `edit.rs` | the tools |
//! | `open.rs` | reading and replacing through the backend, with messages where that fails |
//! | `suggest.rs` | names similar to one that is missing |
//! | `encoding.rs`, `lossy_utf8.rs`, `line_ends.rs` | bytes as text, and back without a loss |
//! | `change.rs` | the difference, for the person and for the model |
//! | `matching.rs` | where the text to be changed is |
//! | `region.rs`, `explain.rs` | what is there instead |
//!
//! Everything below the tools blocks; each call runs as one blocking task. Changes take turns (`Developer::changes`), so
//! that calls of one turn that change the same file do not lose each other's work; what another program changes
//! meanwhile is noticed before it is replaced.

mod change;
mod edit;
mod encoding;
mod explain;
mod line_ends;
mod lossy_utf8;
mod matching;
mod open;
mod read;
mod region;
mod suggest;
mod write;

pub(super) use open::{check_readable, io_failed, moved};
pub(super) use suggest::hint as similar_names;

/// How large a file may be that is read or changed. Larger ones are for the shell.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
