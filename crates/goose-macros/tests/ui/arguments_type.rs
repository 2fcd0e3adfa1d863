//! All arguments together are an object.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool]
    fn list(&self, Arguments(list): Arguments<Vec<u8>>) {}

    #[tool]
    fn text(&self, Arguments(text): Arguments<String>) {}

    #[tool]
    fn number(&self, number: Arguments<u8>) {}

    #[tool]
    fn pair(&self, pair: Arguments<(u8, u8)>) {}

    #[tool]
    fn maybe(&self, maybe: Arguments<Option<HashMap<String, u8>>>) {}
}

fn main() {}
