//! Limits that cannot work.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    const LABEL: &str = "label";

    #[tool]
    fn kinds(
        &self,
        #[arg(min = "1", max = true)] number: u8,
        #[arg(min_length = -1, max_length = 1.5, pattern = 5, format = 'x')] text: String,
        #[arg(min_items = "2")] list: Vec<u8>,
        #[arg(description = 5)] described: u8,
    ) {
    }

    #[tool]
    fn types(
        &self,
        #[arg(min = 1)] text: &str,
        #[arg(min_length = 1)] list: Vec<u8>,
        #[arg(max_length = 3)] number: Option<u32>,
        #[arg(min_items = 1)] path: &std::path::Path,
        #[arg(format = "date")] flag: bool,
        #[arg(max_items = 4)] fixed: [u8; 3],
        #[arg(max_length = 4)] letter: char,
    ) {
    }

    #[tool]
    fn defaults(
        &self,
        #[arg(default = 0, min = 1)] low: u8,
        #[arg(default = 1.5, max = 1.0)] high: Option<f64>,
        #[arg(default = -2, min = -1)] negative: i8,
        #[arg(default = "", min_length = 1)] short: &str,
        #[arg(default = "abc", max_length = 2)] long: &str,
        #[arg(min = 5, max = 4)] nothing: u8,
        #[arg(min_items = 5, max_items = 4)] no_list: Vec<u8>,
    ) {
    }

    #[tool]
    fn own_text(&self, #[arg(description = Self::LABEL)] count: u8) {}
}

fn main() {}
