//! Names that models and MCP clients refuse.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool(name = "read file")]
    fn space(&self) {}

    #[tool(name = "")]
    fn empty(&self) {}

    #[tool(name = "a_name_that_is_so_long_that_the_providers_of_models_would_refuse_it")]
    fn long(&self) {}

    #[tool]
    fn été(&self) {}
}

fn main() {}
