//! Tools of one extension have different names.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[extension]
impl Tools {
    #[tool]
    fn read(&self) {}

    #[tool(name = "read")]
    fn read_again(&self) {}
}

fn main() {}
