//! Stub for systems without fault injection.

pub(crate) fn arm(fault: &str) -> anyhow::Result<()> {
    anyhow::bail!("fault injection is not supported on this system: {fault}")
}

pub(crate) fn disarm() {}

pub(crate) fn writes() -> u64 {
    0
}
