//! A tool is called with whatever a model sends.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    unsafe fn danger(&self, address: usize) {}
}

fn main() {}
