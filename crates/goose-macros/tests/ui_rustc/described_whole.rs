//! A parameter that takes all arguments has no description or default of its own, whatever its type is called.

#![allow(unused)]

use goose_extension::prelude::*;

type Params = Value;

struct Tools;

impl Tools {
    #[tool]
    fn json(&self, #[arg(default)] params: Value) {}

    #[tool]
    fn alias(&self, context: &CallContext, #[arg(description = "All of it")] params: &Params) {}
}

fn main() {}
