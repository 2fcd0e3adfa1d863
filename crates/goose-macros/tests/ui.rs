//! Compiler messages for mistakes: each case is a file with the expected messages beside it.
//! After a change of wording, run with `TRYBUILD=overwrite` and read the difference.
//!
//! The messages in `tests/ui` are the macros' own. Those in `tests/ui_rustc` are the compiler's, whose wording is its
//! own affair, so they are compared only with the compiler that they were recorded with.

#![expect(clippy::disallowed_methods, reason = "tests run programs by themselves")]
#![expect(clippy::expect_used, reason = "a test fails by panicking, and so do its helpers")]

use std::process::Command;

/// The compiler of the messages in `tests/ui_rustc`.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    let compiler = compiler();
    if compiler.starts_with(RECORDED_WITH) {
        cases.compile_fail("tests/ui_rustc/*.rs");
    } else {
        println!("tests/ui_rustc was recorded with {RECORDED_WITH}x and is not compared with {compiler}");
    }
}

/// The compiler that cases are compiled with, as it calls itself.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("there is a compiler");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
