//! An argument with the type of a plain `impl` block, which `#[tool]` does not see.

#![allow(unused)]

use goose_extension::prelude::*;

struct Store<T>(T);

impl<T: Serialize> Store<T> {
    #[tool]
    fn add(&self, one: T) {}
}

fn main() {}
