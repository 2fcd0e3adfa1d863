//! A tool takes `&self`.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[extension]
impl Tools {
    #[tool]
    fn changes(&mut self) {}

    #[tool]
    fn consumes(self) {}

    #[tool]
    fn counted(self: std::sync::Arc<Self>) {}

    #[tool]
    fn nobody() {}
}

fn main() {}
