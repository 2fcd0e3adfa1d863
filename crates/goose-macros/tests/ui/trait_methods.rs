//! Methods of the trait: where they stand, how they are spelt, and that they are there.

#![allow(unused)]

use goose_extension::prelude::*;

struct Own;

#[extension]
impl Own {
    fn prompt(&self) -> String {
        String::new()
    }

    async fn status(&self) {}

    fn name() -> &'static str {
        "a function of the type's own"
    }
}

struct Misspelt;

#[extension]
impl Extension for Misspelt {
    fn promt(&self) -> String {
        String::new()
    }

    async fn list_resource(&self) {}

    fn tool(&self) {}

    #[tool]
    fn prompts(&self) {}

    fn helper(&self) {}
}

struct Conditional;

#[extension]
impl Extension for Conditional {
    #[cfg(unix)]
    fn prompt(&self) -> String {
        String::new()
    }

    #[cfg_attr(unix, cfg(windows))]
    fn version(&self) -> &str {
        "1"
    }

    #[cfg_attr(unix, tool(name = "list"))]
    fn list(&self) {}
}

struct Unchecked;

#[extension]
impl Extension for Unchecked {
    async fn call(
        &self,
        _tool_name: &str,
        _arguments: goose_extension::JsonObject,
        _context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        Ok(ToolOutput::text(""))
    }
}

fn main() {}
