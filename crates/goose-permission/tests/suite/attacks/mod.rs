//! Attacks on the permissions, judged by their effect: whatever is allowed is run by real shells in a scratch home, and then
//! the marker, the files and the output are looked at. A verdict by itself proves nothing here.
//!
//! | file | contents |
//! | --- | --- |
//! | `data/`, `data.rs` | attempts and everyday commands as plain text |
//! | `home.rs`, `data/home.sh` | a scratch home with a project, secrets and hostile repositories |
//! | `tables.rs` | the tables of attempts, one for each mode and rule |
//! | `everyday.rs` | everyday commands of developers, which must stay usable |
//! | `real_shell.rs` | runs a script in dash, bash and bash in POSIX mode |
//! | `grammar.rs` | random scripts for the fuzzer |
//! | `fuzz.rs` | the differential fuzzer: no allowed script may run the marker |
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the tests print their numbers")]
#![expect(clippy::expect_used, reason = "a panic of a worker fails the test")]

mod data;
mod everyday;
mod fuzz;
mod grammar;
mod home;
mod real_shell;
mod tables;
