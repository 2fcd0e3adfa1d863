//! The process table of Linux: `/proc`.

use super::Entry;

/// All living processes from `since` on; older ones cannot be descendants, and their environment is not worth a look.
pub(super) fn read(wanted: &str, since: u64) -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let entries = pids.filter_map(entry).filter(|entry| entry.started >= since);
    entries.map(|entry| Entry { is_marked: is_marked(entry.pid, wanted), ..entry }).collect()
}

/// How many of the newest processes are looked at.
const NEWEST: u32 = 4;

/// The last field of `/proc/loadavg` is the id that was given last; those before it are the next oldest, until ids wrap.
pub(super) fn newest(wanted: &str) -> Vec<u32> {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let Some(last) = load.split_ascii_whitespace().last().and_then(|field| field.parse::<u32>().ok()) else {
        return Vec::new();
    };
    let pids = (last.saturating_sub(NEWEST - 1)..=last).rev();
    pids.filter(|&pid| is_marked(pid, wanted) && entry(pid).is_some()).collect()
}

/// One living process, as if it carried no mark.
pub(super) fn entry(pid: u32) -> Option<Entry> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `pid (name) state parent group …`; the name may contain anything, also parentheses.
fn parse(pid: u32, stat: &[u8]) -> Option<Entry> {
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
    is_alive.then_some(entry)
}

fn is_marked(pid: u32, wanted: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pose_as_other_fields() {
        let rest = "S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7";
        let stat = format!("42 (a) Z 1 1 (b\n) {rest}\n");
        let expected = Entry { pid: 42, parent: 7, group: 8, started: 12345, is_marked: false };
        assert_eq!(parse(42, stat.as_bytes()), Some(expected));
    }

    #[test]
    fn who_waits_to_be_reaped_is_not_alive() {
        let stat = "42 (a) Z 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 6 7\n";
        assert_eq!(parse(42, stat.as_bytes()), None);
        assert_eq!(parse(42, b"42 (a"), None);
        assert_eq!(parse(42, b"42 (a)"), None);
    }
}
