//! What the compiler says to an author who got it wrong: each case is a file in `tests/ui` with the expected
//! messages beside it. After a change of wording, run with `TRYBUILD=overwrite` and read the difference.

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
