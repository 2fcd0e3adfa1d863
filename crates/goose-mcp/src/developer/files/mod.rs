//! `read`, `write`, `edit`: files, with their encoding, line ends and permissions kept.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `read.rs`, `write.rs`, `edit.rs` | the tools |
//! | `open.rs` | reading and replacing through the backend; messages where that fails, with similar names |
//! | `encoding.rs` | bytes as text, and back without a loss |
//! | `change.rs` | the difference, for the person and for the model |
//! | `preview.rs` | the difference that a call would make |
//! | `matching.rs` | the place of the text to be changed, whatever its line ends |
//! | `explain.rs` | the closest text where it is missing |
//! | `renamed.rs` | where a word that an edit replaces still is |
//! | `seen.rs` | the files that a session has looked at |
//!
//! Everything below the tools blocks; each call runs as one blocking task. Changes take turns (`Developer::changes`),
//! so that calls of one turn that change the same file do not lose each other's work; what another program changes
//! meanwhile is noticed before it is replaced.

mod change;
mod edit;
mod encoding;
mod explain;
mod matching;
mod open;
mod preview;
mod read;
mod renamed;
mod seen;
mod write;

pub(super) use open::{check_readable, io_failed, moved, similar_names};
pub(crate) use open::{failed as file_failed, missing as missing_file};
pub(super) use seen::SeenFiles;

/// Maximum size of a file that is read or changed. Larger ones are for the shell.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
