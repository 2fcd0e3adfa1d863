//! The `goose` command.

fn main() {}
