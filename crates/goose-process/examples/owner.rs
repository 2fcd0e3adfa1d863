//! For tests: owns processes and gives none of them up; with the argument `release`, only what their leaders leave
//! running when they end. With `no-terminal` they have none.
//!
//! Starts a shell for each line of its input, with the line as its script, and prints the shell's process id. When the
//! input ends, it ends without dropping them, as a program does that forgets, or that `exit` ends in the middle.

use std::io::Write as _;

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut owned = Vec::new();
    let mode = std::env::args().nth(1);
    let mut scripts = BufReader::new(tokio::io::stdin()).lines();
    while let Some(script) = scripts.next_line().await? {
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let process = match mode.as_deref() {
            Some("no-terminal") => goose_process::spawn_without_terminal(&mut command)?,
            _ => goose_process::spawn(&mut command)?,
        };
        writeln!(std::io::stdout(), "{}", process.id())?;
        match mode.as_deref() {
            Some("release") => drop(tokio::spawn(process.release())),
            _ => owned.push(process),
        }
    }
    std::process::exit(0)
}
