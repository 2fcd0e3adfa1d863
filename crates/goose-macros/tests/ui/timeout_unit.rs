//! Time limits with a unit are strings.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

impl Tools {
    #[tool(timeout = 500ms)]
    async fn half(&self) {}

    #[tool(timeout = 2m)]
    async fn two_minutes(&self) {}

    #[tool(timeout = 5u64)]
    async fn typed(&self) {}
}

fn main() {}
