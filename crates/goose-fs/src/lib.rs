//! File helpers that every crate shares: files by resolved paths, atomic replacement, locks, private folders, and the
//! truncation of texts.
//!
//! - [`resolve`], [`open_file`], [`Folder`]: a path is resolved once, and then used without following any link;
//! - [`open_regular`], [`read_regular`]: a file that any program may have put there; a pipe or device neither blocks
//!   nor is read;
//! - [`AtomicFile`]: a file that is replaced as a whole; a reader sees the old content or the new one, never half of
//!   it;
//! - [`FileLock`]: an advisory lock between processes;
//! - [`create_private_dir`], [`open_private_file`]: a folder that only its owner can enter, a file that only its owner
//!   can read;
//! - [`truncate_chars`], [`head_tail_bytes`], [`head_tail_chars`]: parts of a text that never cut through a character.
//!
//! Nothing here is asynchronous: callers on a runtime use `spawn_blocking`.

mod atomic;
mod folder;
mod lock;
mod text;

pub use atomic::{AtomicFile, Draft, create_private_dir, open_private_file, sync_dir};
pub use folder::{Folder, is_link, open_file, open_regular, read_regular, resolve};
pub use lock::{FileLock, open_lock_file};
pub use text::{
    HeadTail, head_chars, head_tail_bytes, head_tail_chars, truncate_chars, truncate_lines, truncate_middle,
};
