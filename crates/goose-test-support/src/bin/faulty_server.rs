//! An MCP server that does wrong what its flags say; `--help` lists them.

fn main() -> anyhow::Result<()> {
    goose_test_support::faulty_server::run(std::env::args().skip(1).collect())
}
