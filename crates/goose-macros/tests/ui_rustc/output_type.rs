//! `output` is what the method returns.

#![allow(unused)]

use goose_extension::prelude::*;

#[derive(Serialize, JsonSchema)]
struct Weather {
    wind: u8,
}

struct Tools;

impl Tools {
    #[tool(output = Weather)]
    fn another(&self) -> String {
        String::new()
    }

    #[tool(output = Weather)]
    async fn another_in_a_result(&self) -> ToolResult<Vec<Weather>> {
        Ok(Vec::new())
    }
}

fn main() {}
