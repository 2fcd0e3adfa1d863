//! An external agent, for tests: it speaks the Agent Client Protocol on its standard streams, and does what the last
//! line of its task says; `goose_test_support::foreign_agent` lists what that can be.

fn main() -> anyhow::Result<()> {
    goose_test_support::foreign_agent::run(std::env::args().skip(1).collect())
}
