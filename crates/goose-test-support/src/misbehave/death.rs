//! Ends that nobody has asked for.

use super::options::DieHow;

/// Ends the program, now.
pub(super) fn die(how: DieHow) -> ! {
    match how {
        DieHow::Exit(code) => std::process::exit(code),
        DieHow::Abort => std::process::abort(),
        DieHow::Kill9 => kill(),
    }
}

/// The signal comes from a shell; it may arrive before the shell has ended.
fn kill() -> ! {
    let script = format!("kill -9 {}", std::process::id());
    let _ = std::process::Command::new("sh").args(["-c", &script]).status();
    std::process::abort()
}
