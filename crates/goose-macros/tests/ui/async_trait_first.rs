//! `#[async_trait]` above `#[extension]` has rewritten the tools.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[async_trait]
#[extension]
impl Extension for Tools {
    #[tool]
    async fn read(&self, path: String) -> String {
        path
    }
}

fn main() {}
