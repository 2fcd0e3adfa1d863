//! A tool is a method.

#![allow(unused)]

use goose_extension::prelude::*;

#[tool]
fn alone(name: String) -> String {
    name
}

#[tool]
struct NoFunction;

trait Declared {
    #[tool]
    fn without_body(&self);
}

fn main() {}
