//! A tool in the trait's block, which lacks `#[extension]`.

#![allow(unused)]

use goose_extension::prelude::*;

struct Tools;

#[async_trait]
impl Extension for Tools {
    fn name(&self) -> &str {
        "tools"
    }

    fn description(&self) -> &str {
        ""
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &[]
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        Ok(Value::Null)
    }

    #[tool]
    fn look_around(&self) {}
}

fn main() {}
