//! Read-only and destructive at once.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool(read_only, destructive)]
    fn both(&self) {}

    #[tool(read_only, destructive = false)]
    fn one(&self) {}
}

fn main() {}
