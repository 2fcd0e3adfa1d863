//! For tests: owns processes and gives none of them up; with the argument `release`, only what their leaders leave
//! running when they end. With `no-terminal` they have none.
//!
//! Starts a shell for each line of its input, with the line as its script, and prints the shell's process id. When the
//! input ends, it ends without dropping them, as a program does that forgets, or that `exit` ends in the middle.

use std::io::Write as _;

use goose_process::ProcessSpec;
use tokio::io::{AsyncBufReadExt as _, BufReader};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut owned = Vec::new();
    let mode = std::env::args().nth(1);
    let mut scripts = BufReader::new(tokio::io::stdin()).lines();
    while let Some(script) = scripts.next_line().await? {
        let mut spec = ProcessSpec::new("sh");
        spec.args(["-c", &script]);
        if mode.as_deref() == Some("no-terminal") {
            spec.without_terminal();
        }
        let process = goose_process::spawn(&spec)?;
        writeln!(std::io::stdout(), "{}", process.id())?;
        match mode.as_deref() {
            Some("release") => drop(tokio::spawn(process.release())),
            _ => owned.push(process),
        }
    }
    std::process::exit(0)
}
