//! The processes of the machine, as of now.

use crate::marker;

/// One process. A process that ended and only waits to be reaped has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// Start time in ticks since boot; 0 if it is not known.
    pub(crate) started: u64,
    /// True if it carries the mark.
    pub(crate) is_marked: bool,
}

const HAS_PROC: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// All processes that are not older than `leader`, and which of them carry a mark. Only our own user's environments
/// can be read, and only our own user's processes can be ended.
pub(crate) fn read(mark: &str, leader: u32) -> Vec<Entry> {
    let wanted = format!("{}={mark}", marker::VARIABLE);
    if HAS_PROC { proc::read(&wanted, leader) } else { ps::read(&wanted) }
}

/// Those among the newest few processes that carry a mark, where the machine tells which are the newest.
pub(crate) fn newest(mark: &str) -> Vec<u32> {
    let wanted = format!("{}={mark}", marker::VARIABLE);
    if HAS_PROC { proc::newest(&wanted) } else { Vec::new() }
}

/// Returns the start time of a running process; `None` if it has ended.
pub(crate) fn started(pid: u32) -> Option<u64> {
    if HAS_PROC { Some(proc::entry(pid)?.started) } else { ps::is_alive(pid).then_some(0) }
}

mod proc {
    //! The process table of Linux: `/proc`.

    use super::Entry;

    /// All living processes that are not older than the leader; others cannot be descendants, and their environment is
    /// not worth a look. The leader itself may have ended, as long as it was not reaped.
    pub(super) fn read(wanted: &str, leader: u32) -> Vec<Entry> {
        let since = stat(leader).and_then(|stat| Some(parse(leader, &stat)?.0.started)).unwrap_or(0);
        let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let entries = pids.filter_map(entry).filter(|entry| entry.started >= since);
        entries.map(|entry| Entry { is_marked: is_marked(entry.pid, wanted), ..entry }).collect()
    }

    /// Maximum number of the newest processes that are read.
    const NEWEST: u32 = 4;

    /// The last field of `/proc/loadavg` is the id that was given last; those before it are the next oldest, until ids
    /// wrap.
    pub(super) fn newest(wanted: &str) -> Vec<u32> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let Some(last) = load.split_ascii_whitespace().last().and_then(|field| field.parse::<u32>().ok())
        else {
            return Vec::new();
        };
        let pids = (last.saturating_sub(NEWEST - 1)..=last).rev();
        pids.filter(|&pid| is_marked(pid, wanted) && entry(pid).is_some()).collect()
    }

    /// One living process, as if it carried no mark.
    pub(super) fn entry(pid: u32) -> Option<Entry> {
        let (entry, is_alive) = parse(pid, &stat(pid)?)?;
        is_alive.then_some(entry)
    }

    fn stat(pid: u32) -> Option<Vec<u8>> {
        std::fs::read(format!("/proc/{pid}/stat")).ok()
    }

    /// Reads `pid (name) state parent group …`, and returns whether the process is alive. The name may contain
    /// anything, also parentheses.
    fn parse(pid: u32, stat: &[u8]) -> Option<(Entry, bool)> {
        const AFTER_NAME: usize = 2;
        const STARTED: usize = 19;
        let name_end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(stat.get(name_end + AFTER_NAME..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let is_alive = !matches!(*fields.first()?, "Z" | "X" | "x");
        let entry = Entry {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(STARTED)?.parse().ok()?,
            is_marked: false,
        };
        Some((entry, is_alive))
    }

    fn is_marked(pid: u32, wanted: &str) -> bool {
        std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_name_cannot_pose_as_other_fields() {
            let rest = "S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7";
            let stat = format!("42 (a) Z 1 1 (b\n) {rest}\n");
            let expected = Entry { pid: 42, parent: 7, group: 8, started: 12345, is_marked: false };
            assert_eq!(parse(42, stat.as_bytes()), Some((expected, true)));
        }

        #[test]
        fn who_waits_to_be_reaped_is_not_alive() {
            let stat = "42 (a) Z 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7\n";
            assert!(
                parse(42, stat.as_bytes())
                    .is_some_and(|(entry, is_alive)| entry.started == 12345 && !is_alive)
            );
            assert_eq!(parse(42, b"42 (a"), None);
            assert_eq!(parse(42, b"42 (a)"), None);
        }
    }
}

mod ps {
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

    #[expect(
        clippy::disallowed_methods,
        reason = "a look at the process table is not a process to be watched"
    )]
    fn print(arguments: &[&str]) -> String {
        let output =
            Command::new("/bin/ps").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
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
            assert_eq!(
                parse("    5     1   4 Ss   sleep 600 HOME=/ MARK=1:2 A=b", "MARK=1:2"),
                Some(expected)
            );
            let unmarked = Entry { is_marked: false, ..expected };
            assert_eq!(parse("5 1 4 S sleep 600 MARK=1:23", "MARK=1:2"), Some(unmarked));
            assert_eq!(parse("5 1 4 Z (sleep) MARK=1:2", "MARK=1:2"), None);
            assert_eq!(parse("ps: nothing", "MARK=1:2"), None);
        }
    }
}
