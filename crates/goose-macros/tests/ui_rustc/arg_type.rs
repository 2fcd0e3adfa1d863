//! A default of another type than the parameter.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    fn wrong_default(&self, #[arg(default = 10)] count: String) {}
}

fn main() {}
