//! The items that `#[extension]` accepts.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[extension]
impl std::fmt::Display for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tools")
    }

    #[tool]
    fn read(&self, /** A path. */ path: String) {}
}

#[extension]
struct NoBlock;

trait Shape {}

#[extension]
impl dyn Shape {}

fn main() {}
