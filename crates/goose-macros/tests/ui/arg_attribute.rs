//! Mistakes in `#[arg]`.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    const LIMIT: u8 = 10;

    #[tool]
    fn unknown(&self, #[arg(minimum = 1)] count: u8) {}

    #[tool]
    fn twice(&self, #[arg(min = 1, min = 2)] count: u8) {}

    #[tool]
    fn again(&self, #[arg(min = 1)] #[arg(max = 2)] count: u8) {}

    #[tool]
    fn empty(&self, #[arg] count: u8) {}

    #[tool]
    fn no_value(&self, #[arg(max)] count: u8) {}

    #[tool]
    fn own_constant(&self, #[arg(default = Self::LIMIT)] count: u8) {}

    #[tool]
    fn same_name(&self, count: u8, #[arg(rename = "count")] number: u8) {}
}

fn main() {}
