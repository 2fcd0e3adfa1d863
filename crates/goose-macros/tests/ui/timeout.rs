//! Time limits.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool(timeout = "30s")]
    fn sync(&self) {}

    #[tool(timeout = "30 parsecs")]
    async fn unit(&self) {}

    #[tool(timeout = 0)]
    async fn zero(&self) {}
}

fn main() {}
