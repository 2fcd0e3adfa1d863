//! Results that cannot be shown to a model.

#![allow(unused)]

use goose_extension::prelude::*;

struct Opaque;

#[derive(Serialize)]
struct Broken;

struct Tools;

impl Tools {
    #[tool]
    fn opaque(&self) -> Opaque {
        Opaque
    }

    #[tool]
    async fn opaque_result(&self) -> ToolResult<Opaque> {
        Ok(Opaque)
    }

    /// An error that serializes is still an error, not a result.
    #[tool]
    fn broken(&self) -> Result<String, Broken> {
        Err(Broken)
    }
}

fn main() {}
