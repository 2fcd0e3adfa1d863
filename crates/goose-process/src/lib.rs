//! Child processes that do not outlive their owner: the one door through which goose starts programs.
//!
//! [`spawn`] starts the program that a [`ProcessSpec`] describes as a [`Process`]. Whatever that program starts in turn
//! is its *tree*, and the tree ends with the `Process`: by [`Process::stop`], by [`Process::kill_tree`], or when it is
//! dropped. Only [`Process::release`] lets the rest of it live on when its program has ended, for as long as goose
//! does. When goose itself dies, even by `kill -9`, a watcher ends what is left.
//!
//! - `spec`: the description of a program, the one place where a command is made;
//! - `process`: the handle, and the exit status, read without reaping the process;
//! - `tree`: the members of a process's tree, and ways to end all of them;
//! - `table`: the processes of the machine, from `/proc` or, where there is none, from `ps`;
//! - `marker`: the variable in the environment that finds those who left the group;
//! - `watcher`: the small process that outlives goose for a moment;
//! - `tail`: the last lines that a program wrote;
//! - `protect`: keeps other processes out of this one.
//!
//! A process can still escape if it left the group *and* its parent is gone *and* its environment is not visible,
//! because it emptied it, or because the system hides it from us (programs that guard their memory, such as `ssh-agent`
//! and `goose`, or that run as another user).

mod marker;
mod process;
mod protect;
mod spec;
mod table;
mod tail;
mod tree;
mod watcher;

pub use process::{Process, run_in_foreground, spawn, start_detached};
pub use protect::protect_process;
pub use spec::{ProcessSpec, Stream};
pub use tail::Tail;
pub use watcher::prepare;
