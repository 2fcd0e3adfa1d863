//! Parameters that no argument can fill.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    fn pattern(&self, (a, b): (u8, u8)) -> u8 {
        a + b
    }

    #[tool]
    fn nameless(&self, _: String) {}

    #[tool]
    fn in_place(&self, list: &mut Vec<u8>) {
        list.clear();
    }

    #[tool]
    fn borrowed_inside(&self, list: Vec<&str>) -> usize {
        list.len()
    }

    #[tool]
    fn forever(&self, text: &'static str) -> &'static str {
        text
    }

    #[tool]
    fn object(&self, shown: Box<dyn std::fmt::Display>) -> String {
        shown.to_string()
    }

    #[tool]
    fn itself(&self, other: Option<Self>) -> bool {
        other.is_some()
    }

    #[tool]
    fn conditional(&self, #[cfg(unix)] mode: u32) {}
}

fn main() {}
