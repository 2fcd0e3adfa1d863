//! [`is_alive`]: whether a process is still there.

use std::{fs, path::Path, process::Command};

/// Returns whether a process is there, and not merely waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let is_dead = |stat: &str| [") Z ", ") X "].iter().any(|state| stat.contains(state));
        return fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !is_dead(&stat));
    }
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output();
    let state = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
}
