//! The limits of a program.

use std::time::Duration;

/// The longest program.
pub(crate) const MAX_CODE_BYTES: usize = 256 * 1024;

/// The memory of the engine, tool results included.
pub(crate) const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The stack of the program's own functions.
pub(crate) const MAX_STACK_BYTES: usize = 1024 * 1024;

/// The stack of the engine's thread: the program's, and room for the functions below and above it.
pub(crate) const THREAD_STACK_BYTES: usize = 4 * MAX_STACK_BYTES;

/// The time that a program may compute without waiting for a call or a timer.
pub(crate) const MAX_BUSY: Duration = Duration::from_secs(10);

/// The time after which an engine is left alone that is busy and does not react: long work inside a single built-in function
/// cannot be interrupted.
pub(crate) const ABANDON_AFTER: Duration = Duration::from_secs(12);

/// The engines of the process, those included that were left alone.
pub(crate) const MAX_ENGINES: usize = 32;

/// The engines that were left alone and still compute, after which no program is run.
pub(crate) const MAX_ABANDONED: usize = 4;

/// The time that a program waits for engines to end that were just left alone.
pub(crate) const WAIT_FOR_ENGINE: Duration = Duration::from_secs(1);

/// The time of a whole program. Waiting for a person's approval is a part of it.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(30 * 60);

/// The time that calls which still run get to finish when their program has failed.
pub(crate) const FINISH_CALLS: Duration = Duration::from_secs(30);

/// The time to parse a program.
pub(crate) const MAX_PARSING: Duration = Duration::from_secs(5);

/// The calls that a program may make.
pub(crate) const MAX_CALLS: usize = 1000;

/// The calls that run at the same time; further ones wait.
pub(crate) const MAX_CALLS_AT_ONCE: usize = 16;

/// The timers that a program may set.
pub(crate) const MAX_TIMERS: usize = 10_000;

/// The printed output that comes back: its beginning and its end.
pub(crate) const MAX_HEAD_BYTES: usize = 48 * 1024;
pub(crate) const MAX_TAIL_BYTES: usize = 16 * 1024;

/// The printed output after which a program is stopped.
pub(crate) const MAX_PRINTED_BYTES: usize = 16 * 1024 * 1024;

/// The longest error, and the longest value of a program.
pub(crate) const MAX_ERROR_BYTES: usize = 8 * 1024;

/// The longest list of functions; beyond it only names are listed.
pub(crate) const MAX_LIST_BYTES: usize = 32 * 1024;

/// The functions whose declarations are shown at once.
pub(crate) const MAX_DETAILS: usize = 100;

/// The longest text of declarations.
pub(crate) const MAX_DETAIL_BYTES: usize = 64 * 1024;

/// The nodes of `tool_graph` that are shown, and the longest text of each.
pub(crate) const MAX_GRAPH_NODES: usize = 100;
pub(crate) const MAX_GRAPH_CHARS: usize = 200;
