//! Unknown, repeated and empty keys of `#[tool]`.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[extension]
impl Tools {
    #[tool(nmae = "x", descr = "several mistakes are reported at once")]
    fn unknown(&self) {}

    #[tool(name = "a", name = "b")]
    fn twice(&self) {}

    #[tool(name)]
    fn no_value(&self) {}

    #[tool(name = 5)]
    fn no_string(&self) {}

    #[tool(description = "")]
    fn empty(&self) {}

    #[tool(description = 5)]
    fn number(&self) {}

    #[tool(read_only = "yes")]
    fn no_bool(&self) {}

    #[tool]
    #[tool]
    fn two_attributes(&self) {}
}

fn main() {}
