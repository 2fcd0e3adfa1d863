//! Without a layer between SQLite and the system, no faults can be injected.

pub(crate) fn arm(fault: &str) -> anyhow::Result<()> {
    anyhow::bail!("there is no way to {fault} on this system")
}

pub(crate) fn disarm() {}

pub(crate) fn writes() -> u64 {
    0
}
