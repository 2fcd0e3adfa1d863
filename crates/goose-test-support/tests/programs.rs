//! The programs of this crate start, speak and end.

use goose_test_support::binary;

#[test]
fn programs_are_built_on_demand() {
    let path = binary("workbench").unwrap();
    assert!(path.is_file(), "{} was not built", path.display());
}
