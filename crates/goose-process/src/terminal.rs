//! Our terminal, and how a program is kept from it.

use std::{fs::File, sync::OnceLock};

use tokio::process::Command;

/// The terminal of whoever opens it.
const TERMINAL: &str = "/dev/tty";

/// Whether we have a terminal. Looked up once.
pub(crate) fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| File::open(TERMINAL).is_ok())
}

/// Has the program start in a session of its own, which has no terminal. It leads a group of its own, too.
#[expect(unsafe_code, reason = "only a hook between fork and exec can leave the terminal")]
pub(crate) fn leave(command: &mut Command) {
    let leave = || rustix::process::setsid().map(drop).map_err(Into::into);
    // SAFETY: it runs between fork and exec, where only one system call is made, and no memory is allocated.
    unsafe { command.pre_exec(leave) };
}
