//! One context, and one way to take all arguments.

#![allow(unused)]

use goose_extension::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
}

struct Tools;

impl Tools {
    #[tool]
    fn two_contexts(&self, one: &CallContext, other: CallContext) {}

    #[tool]
    fn described_context(&self, #[arg(description = "the context")] context: CallContext) {}

    #[tool]
    fn not_alone(&self, Arguments(query): Arguments<Query>, limit: u8) -> String {
        query.text
    }
}

fn main() {}
