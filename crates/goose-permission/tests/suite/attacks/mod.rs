//! Attacks on the permissions, judged by their effect: real shells run all allowed commands in a scratch
//! home, and the tests check the marker, the files and the output. A verdict alone proves nothing here.
//!
//! | file | contents |
//! | --- | --- |
//! | `data/`, `data.rs` | attempts and everyday commands as plain text |
//! | `home.rs`, `data/home.sh` | a scratch home with a project, secrets and hostile repositories |
//! | `tables.rs` | the tables of attempts, one for each mode and rule |
//! | `everyday.rs` | everyday commands of developers, which must not ask too often |
//! | `real_shell.rs` | runs a script in dash, bash and bash in POSIX mode |
//! | `grammar.rs` | random scripts for the fuzzer |
//! | `fuzz.rs` | the differential fuzzer: no allowed script may run the marker |
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the tests print statistics")]
#![expect(clippy::expect_used, reason = "a panic of a worker fails the test")]

mod data;
mod everyday;
mod fuzz;
mod grammar;
mod home;
mod real_shell;
mod tables;
