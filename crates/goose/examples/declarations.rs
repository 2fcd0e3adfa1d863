//! Prints the TypeScript declarations of built-in tools, as programs of `code_execution` see them. `scripts/interop` has
//! them checked by the TypeScript compiler.

#![expect(clippy::print_stdout, reason = "its purpose")]

use std::sync::Arc;

use goose::platform::{Todo, code_execution::CodeExecution};
use goose_extension::{CallContext, JsonObject, prelude::*};
use goose_mcp::{BUILTINS, Settings};
use goose_test_support::KitchenSink;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::new(std::env::temp_dir());
    let mut extensions: Vec<Arc<dyn Extension>> =
        BUILTINS.iter().map(|builtin| builtin.build(&settings)).collect();
    extensions.push(Arc::new(Todo));
    extensions.push(Arc::new(KitchenSink::default()));
    let named = |extension: &Arc<dyn Extension>| {
        let name = |tool: &Tool| tool.clone().with_name(format!("{}__{}", extension.name(), tool.name()));
        extension.tools().iter().map(name).collect::<Vec<Tool>>()
    };
    let tools: Arc<[Tool]> = extensions.iter().flat_map(named).collect();
    let names: Vec<String> = extensions.iter().map(|extension| extension.name().replace('-', "_")).collect();
    let arguments = JsonObject::from_iter([("functions".to_owned(), json!(names))]);
    let code = CodeExecution::new(move || Arc::clone(&tools));
    let output = code.call("get_function_details", arguments, &CallContext::new()).await?;
    println!("{}", output.as_text());
    Ok(())
}
