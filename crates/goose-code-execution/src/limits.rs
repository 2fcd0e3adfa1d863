//! Limits of programs and engines.

use std::time::Duration;

/// Maximum size of a program.
pub(crate) const MAX_CODE_BYTES: usize = 256 * 1024;

/// Memory of an engine, including results of tools.
pub(crate) const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// Stack of the program's functions.
pub(crate) const MAX_STACK_BYTES: usize = 1024 * 1024;

/// Stack of the engine's thread: the program's, and room for native functions below and above it.
pub(crate) const THREAD_STACK_BYTES: usize = 4 * MAX_STACK_BYTES;

/// Time that a program may compute without waiting for a call or a timer.
pub(crate) const MAX_BUSY: Duration = Duration::from_secs(10);

/// Time after which a busy engine is abandoned. It exceeds `MAX_BUSY`, because work inside a built-in
/// function cannot be interrupted, and all other work stops before.
pub(crate) const ABANDON_AFTER: Duration = Duration::from_secs(12);

/// Memory of all engines in the process.
const MAX_TOTAL_MEMORY_BYTES: usize = 256 * 1024 * 1024;

/// Maximum number of engines in the process, including abandoned ones. Further programs wait.
pub(crate) const MAX_ENGINES: usize = MAX_TOTAL_MEMORY_BYTES / MAX_MEMORY_BYTES;

/// Time that a program waits for others to end. It is limited because those may wait for this one: a program can start
/// a delegate that runs a program.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(2 * 60);

/// Number of abandoned engines at which no further program runs.
pub(crate) const MAX_ABANDONED: usize = 4;

/// Time that a new program waits for abandoned engines to end.
pub(crate) const WAIT_FOR_ENGINE: Duration = Duration::from_secs(1);

/// Time of a whole program, including waits for the user's approval.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(30 * 60);

/// Time that running calls get to finish when their program has ended.
pub(crate) const FINISH_CALLS: Duration = Duration::from_secs(30);

/// Time to parse a program.
pub(crate) const MAX_PARSING: Duration = Duration::from_secs(5);

/// Maximum number of calls of a program.
pub(crate) const MAX_CALLS: usize = 1000;

/// Maximum number of concurrent calls; further ones wait.
pub(crate) const MAX_CALLS_AT_ONCE: usize = 16;

/// Maximum number of timers of a program.
pub(crate) const MAX_TIMERS: usize = 10_000;

/// Size of the beginning of the output that is returned.
pub(crate) const MAX_HEAD_BYTES: usize = 48 * 1024;

/// Size of the end of the output that is returned.
pub(crate) const MAX_TAIL_BYTES: usize = 16 * 1024;

/// Size of the output at which a program is stopped.
pub(crate) const MAX_PRINTED_BYTES: usize = 16 * 1024 * 1024;

/// Maximum size of an error.
pub(crate) const MAX_ERROR_BYTES: usize = 8 * 1024;

/// Maximum size of a list of functions with signatures; a longer list has only names.
pub(crate) const MAX_LIST_BYTES: usize = 32 * 1024;

/// Maximum number of names in one request for declarations.
pub(crate) const MAX_DETAILS: usize = 100;

/// Maximum size of declarations.
pub(crate) const MAX_DETAIL_BYTES: usize = 64 * 1024;

/// Maximum number of nodes of `tool_graph` that are shown.
pub(crate) const MAX_GRAPH_NODES: usize = 100;

/// Maximum length of a text in a node of `tool_graph`.
pub(crate) const MAX_GRAPH_CHARS: usize = 200;
