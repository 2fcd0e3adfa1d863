//! The data files, with one entry per line. A line that starts with `|` continues the entry before it, a line
//! that starts with `#` is a comment, and `‹0d›` is the character with this hexadecimal number.

use std::{fs, path::PathBuf};

use anyhow::Context as _;

/// Returns the path of a data file. The files are read at run time, so that changes need no build.
pub(super) fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/suite/attacks/data", name].iter().collect()
}

/// Reads the entries of a file.
pub(super) fn entries(name: &str) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(path(name)).with_context(|| format!("{name} cannot be read"))?;
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = unescaped(line).with_context(|| format!("{name}: {line}"))?;
        match (line.strip_prefix('|'), entries.last_mut()) {
            (Some(more), Some(entry)) => {
                entry.push('\n');
                entry.push_str(more);
            }
            _ => entries.push(line),
        }
    }
    Ok(entries)
}

fn unescaped(line: &str) -> anyhow::Result<String> {
    let mut parts = line.split('‹');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('›').context("`‹` without `›`")?;
        let character = u32::from_str_radix(number, 16).ok().and_then(char::from_u32);
        plain.push(character.context("not the number of a character")?);
        plain.push_str(rest);
    }
    Ok(plain)
}

/// Inserts a command into every carrier: unquoted for `%c`, quoted for `%q` and `%d`.
pub(super) fn carried(command: &str) -> anyhow::Result<Vec<String>> {
    let single = format!("'{command}'");
    let double = format!("\"{command}\"");
    let fill = |carrier: &String| {
        carrier.replace("%c", command).replace("%q", &single).replace("%d", &double).replace("%%", "%")
    };
    Ok(entries("carriers.txt")?.iter().map(fill).collect())
}

/// Combines ways to use a file with files. Their paths are relative to the home folder, which contains the
/// working folder.
pub(super) fn ways(ways: &str, paths: &str) -> anyhow::Result<Vec<String>> {
    let (ways, paths) = (entries(ways)?, entries(paths)?);
    let fill = |way: &String, path: &String| {
        let relative = path.strip_prefix("work/").map_or_else(|| format!("../{path}"), str::to_owned);
        let (folder, name) = relative.rsplit_once('/').unwrap_or((".", &relative));
        way.replace("%p", &format!("@HOME@/{path}"))
            .replace("%t", &format!("~/{path}"))
            .replace("%h", path)
            .replace("%d", folder)
            .replace("%n", name)
            .replace("%r", &relative)
            .replace("%1", &name[..1])
            .replace("%2", &name[1..])
            .replace("%%", "%")
    };
    Ok(paths.iter().flat_map(|path| ways.iter().map(move |way| fill(way, path))).collect())
}
