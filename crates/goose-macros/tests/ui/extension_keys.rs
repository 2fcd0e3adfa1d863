//! Mistakes in `#[extension(…)]`.

#![allow(unused)]

use goose_extension::prelude::*;

struct Unknown;

#[extension(nme = "x")]
impl Unknown {}

struct Empty;

#[extension(name = "", version = 1)]
impl Empty {}

struct Twice;

#[extension(name = "x")]
impl Extension for Twice {
    fn name(&self) -> &str {
        "y"
    }
}

fn main() {}
