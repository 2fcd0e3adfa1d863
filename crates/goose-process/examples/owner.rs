//! For tests: owns processes and gives none of them up.
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
    let mut scripts = BufReader::new(tokio::io::stdin()).lines();
    while let Some(script) = scripts.next_line().await? {
        let process = goose_process::spawn(Command::new("sh").args(["-c", &script]))?;
        writeln!(std::io::stdout(), "{}", process.id())?;
        owned.push(process);
    }
    std::process::exit(0)
}
