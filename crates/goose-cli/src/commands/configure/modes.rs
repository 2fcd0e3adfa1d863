//! The modes, as people choose them.

use anyhow::bail;

/// Each mode, and what it means.
pub(super) const MODES: [(&str, &str); 4] = [
    ("auto", "works without asking, except where a rule says so"),
    ("smart_approve", "reads without asking, and asks before it changes anything"),
    ("approve", "asks before each call of a tool"),
    ("chat", "only talks; it has no tools"),
];

/// The mode of that name.
pub(super) fn known(name: &str) -> anyhow::Result<&'static str> {
    let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
    match MODES.iter().find(|(mode, _)| *mode == wanted) {
        Some((mode, _)) => Ok(mode),
        None => {
            let names: Vec<&str> = MODES.iter().map(|(mode, _)| *mode).collect();
            bail!("There is no mode '{}'. Use one of {}.", name.escape_debug(), names.join(", "))
        }
    }
}
