//! An argument has one name.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    fn find(&self, #[serde(default, alias = "q")] query: String) {}
}

fn main() {}
