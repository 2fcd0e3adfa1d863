//! Child processes that do not outlive their owner: the one door through which goose starts programs.
//!
//! [`spawn`] starts a program as a [`Process`]. Whatever that program starts in turn is its *tree*, and the tree ends
//! with the `Process`: by [`Process::stop`], by [`Process::kill_tree`], or when it is dropped. Only
//! [`Process::release`] lets the rest of it live on when its program has ended, for as long as goose does. When goose itself dies,
//! even by `kill -9`, a watcher ends what is left.
//!
//! - `process`: the handle; `exit`: how a process ended, seen without reaping it;
//! - `tree`: who belongs to a process, and how all of them are ended; `ending`: the same, gently and in the background;
//! - `table`: the processes of the machine, from `/proc` or, where there is none, from `ps`;
//! - `terminal`: how a program is kept from ours;
//! - `marker`: the variable in the environment that finds those who left the group;
//! - `watcher`: the small process that outlives goose for a moment;
//! - `tail`: the last lines that a program wrote.
//!
//! What can still escape: a process that left the group *and* whose parent is gone *and* whose environment we cannot see,
//! because it emptied it, or because the system hides it from us (programs that guard their memory, such as `ssh-agent`,
//! or that run as somebody else).

mod ending;
mod exit;
mod marker;
mod process;
mod table;
mod tail;
mod terminal;
mod tree;
mod watcher;

pub use process::{Process, prepare, spawn, spawn_detached, spawn_without_terminal};
pub use tail::Tail;
