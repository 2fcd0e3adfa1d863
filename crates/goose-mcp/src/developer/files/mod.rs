//! `read`, `write`, `edit`: files, with their encoding, line ends and permissions kept.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `read.rs`, `write.rs`, `edit.rs` | the tools |
//! | `open.rs` | getting the bytes of a file, and saying why not |
//! | `near.rs` | names that are like one that is not there |
//! | `encoding.rs`, `damaged.rs`, `line_ends.rs` | bytes as text, and back without a loss |
//! | `replace.rs` | putting new bytes in the place of a file, all at once |
//! | `in_place.rs`, `attributes.rs` | what else belongs to a file and has to stay |
//! | `change.rs` | the difference, for the person and for the model |
//! | `matching.rs` | where the text to be changed is |
//! | `region.rs`, `explain.rs` | what is there instead |
//!
//! Everything below the tools blocks; each call runs as one blocking task. Changes take turns (`Developer::changes`), so
//! that calls of one turn that change the same file do not lose each other's work; what another program changes
//! meanwhile is noticed before it is replaced.

mod attributes;
mod change;
mod damaged;
mod edit;
mod encoding;
mod explain;
mod in_place;
mod line_ends;
mod matching;
mod near;
mod open;
mod read;
mod region;
mod replace;
mod write;

pub(super) use near::hint as near_names;
pub(super) use open::{check_readable, open_regular};

/// How large a file may be that is read or changed. Larger ones are for the shell.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
