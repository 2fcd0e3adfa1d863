//! The programs of this crate start, speak and end.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

#[path = "programs/calls.rs"]
mod calls;
#[path = "programs/connected.rs"]
mod connected;
#[path = "programs/endpoint.rs"]
mod endpoint;
#[path = "programs/lists.rs"]
mod lists;
#[path = "programs/process.rs"]
mod process;
#[path = "programs/raw.rs"]
mod raw;
#[path = "programs/wires.rs"]
mod wires;

use goose_test_support::binary;

#[test]
fn programs_are_built_on_demand() {
    let path = binary("kitchen_sink").unwrap();
    assert!(path.is_file(), "{} was not built", path.display());
}
