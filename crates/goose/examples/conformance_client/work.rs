//! Uses everything that a server offers.

use anyhow::{bail, ensure};
use futures::future::try_join_all;
use goose::agents::extension_manager::ExtensionManager;
use goose_extension::{CallContext, JsonObject, Tool};
use serde_json::Value;

use crate::person::something;

/// Scenarios in which several calls are under way at once.
const SIDE_BY_SIDE: [&str; 1] = ["sep-2322-client-request-state"];

/// Calls the tools that the scenario names, or all; reads resources and prompts where there are some.
pub(crate) async fn through(
    manager: &ExtensionManager,
    scenario: &str,
    context: &Value,
    calls: &CallContext,
) -> anyhow::Result<()> {
    let tools = manager.list_tools().await?;
    // A server that cannot be reached has no tools, and says why.
    for extension in manager.status() {
        ensure!(extension.service.reason.is_none(), "{}", extension.service.reason.unwrap_or_default());
    }
    let plan = planned(context).unwrap_or_else(|| everything(&tools));
    let calling = plan.iter().map(|(tool, arguments)| call(manager, tool, arguments.clone(), calls));
    if SIDE_BY_SIDE.contains(&scenario) {
        try_join_all(calling).await?;
    } else {
        for one in calling {
            one.await?;
        }
    }
    read(manager, calls).await
}

/// The calls that the suite asks for.
fn planned(context: &Value) -> Option<Vec<(String, JsonObject)>> {
    let plan = context["toolCalls"].as_array()?;
    let call =
        |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].as_object()?.clone()));
    plan.iter().map(call).collect()
}

/// Each tool once, with something in each argument. One wants to see a schema of the server's as it arrived here.
fn everything(tools: &[Tool]) -> Vec<(String, JsonObject)> {
    let schema = |tool: &Tool| Value::Object(tool.input_schema().clone());
    let shown = tools.iter().find(|tool| tool.name().ends_with("json_schema_2020_12_tool")).map(schema);
    let argument = |name: &str, field: &Value| match &shown {
        Some(shown) if name == "schema" => shown.clone(),
        _ => something(field),
    };
    let arguments = |schema: Value| -> JsonObject {
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields.map(|(name, field)| (name.clone(), argument(name, field))).collect()
    };
    tools.iter().map(|tool| (tool.name().to_owned(), arguments(schema(tool)))).collect()
}

async fn call(
    manager: &ExtensionManager,
    tool: &str,
    arguments: JsonObject,
    calls: &CallContext,
) -> anyhow::Result<()> {
    let output = manager.call_tool_with(tool, arguments, calls).await?;
    if output.is_error {
        bail!("`{tool}` failed: {}", output.as_text());
    }
    Ok(())
}

async fn read(manager: &ExtensionManager, calls: &CallContext) -> anyhow::Result<()> {
    for resource in manager.list_resources(None).await?.items {
        manager.read_resource(&resource.item.uri, None, calls).await?;
    }
    for prompt in manager.list_prompts(None).await?.items {
        manager.get_prompt(&prompt.item.name, JsonObject::new(), calls).await?;
    }
    Ok(())
}
