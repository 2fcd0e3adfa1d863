//! There are five groups.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool(group = "write")]
    fn unknown(&self) {}

    #[tool(group = ["read", "exec", 5])]
    fn one_of_several(&self) {}

    #[tool(group = read)]
    fn no_string(&self) {}
}

fn main() {}
