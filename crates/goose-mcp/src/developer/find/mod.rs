//! Finding one's way in a folder: `tree` and `search`, both as git would see it.
//!
//! What is ignored by git is left out, hidden files too; links are not followed. Every walk has caps and stops when the
//! call is cancelled.

mod search;
mod tree;
mod walk;

pub(super) use walk::{Root, Walk};
