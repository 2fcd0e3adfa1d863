//! The process table where there is no `/proc`: what `ps` prints, environments included as far as it may see them.

use std::process::{Command, Stdio};

use super::Entry;

pub(super) fn read(wanted: &str) -> Vec<Entry> {
    let columns = ["-A", "-E", "-ww", "-o", "pid=,ppid=,pgid=,state=,command="];
    print(&columns).lines().filter_map(|line| parse(line, wanted)).collect()
}

pub(super) fn is_alive(pid: u32) -> bool {
    let state = print(&["-o", "state=", "-p", &pid.to_string()]);
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn print(arguments: &[&str]) -> String {
    let output = Command::new("/bin/ps").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
    match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            tracing::warn!(%error, "`ps` could not be started; processes that left their group are not found");
            String::new()
        }
    }
}

fn parse(line: &str, wanted: &str) -> Option<Entry> {
    let mut fields = line.split_ascii_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    let is_alive = !fields.next()?.starts_with('Z');
    let is_marked = fields.any(|word| word == wanted);
    is_alive.then_some(Entry { pid, parent, group, started: 0, is_marked })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_numbers_a_state_and_words() {
        let expected = Entry { pid: 5, parent: 1, group: 4, started: 0, is_marked: true };
        assert_eq!(parse("    5     1   4 Ss   sleep 600 HOME=/ MARK=1:2 A=b", "MARK=1:2"), Some(expected));
        let unmarked = Entry { is_marked: false, ..expected };
        assert_eq!(parse("5 1 4 S sleep 600 MARK=1:23", "MARK=1:2"), Some(unmarked));
        assert_eq!(parse("5 1 4 Z (sleep) MARK=1:2", "MARK=1:2"), None);
        assert_eq!(parse("ps: nothing", "MARK=1:2"), None);
    }
}
