//! `goosed`: runs `goose serve` with the same arguments, in the same process.

#![forbid(unsafe_code)]

use std::{env, io, os::unix::process::CommandExt as _, process::ExitCode};

fn main() -> ExitCode {
    let error = match env::current_exe() {
        Ok(this) => serve(&this.with_file_name("goose")),
        Err(error) => error,
    };
    let mut stderr = anstream::stderr();
    // Without standard error, the exit code says it.
    let _ = io::Write::write_fmt(
        &mut stderr,
        format_args!("error: `goose` could not be started beside `goosed`: {error}\n"),
    );
    ExitCode::FAILURE
}

/// Replaces this process. Returns only if that fails.
fn serve(goose: &std::path::Path) -> io::Error {
    #[expect(clippy::disallowed_methods, reason = "no process is started: this one becomes another program")]
    let mut command = std::process::Command::new(goose);
    command.arg("serve").args(env::args_os().skip(1)).exec()
}
